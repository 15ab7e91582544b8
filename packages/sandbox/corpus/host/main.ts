// A host under attack. It opens compartments, runs the scripts of attacks in them, and reports its own state and that
// of another extension after each attack.
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { connect } from 'node:net'
import type { Attack, AttackPlacement } from '../model/case.ts'
import type { Facts } from '../target/facts.ts'
import type { Aftermath } from '../model/fate.ts'
import type { FromHost, Job, ToHost } from '../model/protocol.ts'
import { attackBareHost } from './bare-host.ts'
import { listenForThreads } from './thread-messages.ts'
import { LagMeter } from './lag.ts'
import { beginMeanwhile } from './meanwhile.ts'
import type { Neighbour } from './neighbour.ts'
import { openNeighbour } from './neighbour.ts'
import { AttackRun } from './attack-run.ts'
import { rememberRealm } from './realm.ts'
import { ownNames } from './resolver.ts'

const send = (message: FromHost): Promise<void> => new Promise((sent) => void process.send!(message, () => sent()))
const lag = new LagMeter()
const messagesOfThreads = listenForThreads()
const neighbours = new Map<AttackPlacement, Neighbour>()
let leaks: string[] = []
let longestMessage = 0
let go = (): void => undefined
let target: { readonly secret: string; readonly facts: Facts; readonly changed: () => readonly string[] }

process.on('message', (message: ToHost) => {
  switch (message.type) {
    case 'start':
      return void start(message)
    case 'job':
      return void run(message.job)
    case 'go':
      return go()
    case 'ping':
      return void send({ type: 'pong' })
  }
})

async function start({ secret, facts, heldPort }: ToHost & { readonly type: 'start' }): Promise<void> {
  ownNames()
  // Now, because a host that is killed cannot save its compile cache.
  flushCompileCache()
  const held = connect(heldPort, '127.0.0.1')
  await once(held, 'connect')
  const fds = {
    secret: openSync(`${facts.outside}/secret.txt`, 'r'),
    log: openSync(`${facts.outside}/log.txt`, 'a'),
    socket: (held as unknown as { readonly _handle: { readonly fd: number } })._handle.fd,
  }
  target = { secret, facts: { ...facts, hostPid: process.pid, fds }, changed: rememberRealm(Object.values(fds)) }
  await send({ type: 'ready' })
}

async function run(job: Job): Promise<void> {
  const { secret, facts } = target
  const { placement, layers } = job
  if (!neighbours.has(placement)) neighbours.set(placement, await openNeighbour(placement))
  const attackRun = new AttackRun({ job, secret, facts, inspect })
  for (const attack of attackRun.attacks) {
    leaks = []
    longestMessage = 0
    lag.take()
    lag.takeShare()
    await send({ type: 'begin', id: attack.id })
    if (layers.gate) await runAttack(attack, attackRun, placement)
    else await send({ type: 'step', id: attack.id, seen: ['call', await attackBareHost(attack, facts)] })
    const busyShare = lag.takeShare()
    if (attack === attackRun.attacks.at(-1)) await attackRun.close()
    await finish(attack, placement, busyShare)
  }
  await send({ type: 'idle' })
}

async function runAttack(attack: Attack, attackRun: AttackRun, placement: AttackPlacement): Promise<void> {
  const { id, script } = attack
  const meanwhile = beginMeanwhile(attack, placement, `${target.facts.work}/own`, target.secret)
  await meanwhile.beforeStep()
  if (!attackRun.isOpen) {
    const opened = await attackRun.take('open', attack)
    if ('refused' in opened || script[0]?.[0] === 'open') await send({ type: 'step', id, seen: ['open', opened] })
  }
  for (const [step] of script) {
    if (step === 'open' || (step !== 'reopen' && !attackRun.isOpen)) continue
    await meanwhile.beforeStep()
    await send({ type: 'step', id, seen: [step, await attackRun.take(step, attack)] })
  }
  meanwhile.end()
}

async function finish({ id }: Attack, placement: AttackPlacement, busyShare: number): Promise<void> {
  const next = new Promise<void>((resolve) => void (go = resolve))
  const aftermath: Aftermath = {
    neighbour: await neighbours.get(placement)!.answer(),
    lagMs: lag.take(),
    busyShare,
    changed: [...target.changed(), ...messagesOfThreads()],
    leaks,
    longestMessage,
  }
  await send({ type: 'end', id, aftermath })
  await next
}

/** Checks output of a compartment for the secret. */
function inspect(text: string, kind: 'message' | 'other' = 'other'): void {
  if (kind === 'message') longestMessage = Math.max(longestMessage, text.length)
  if (text.includes(target.secret)) leaks.push(text.slice(0, 200))
}
