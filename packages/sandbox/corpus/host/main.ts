// A host under attack: a process that lives for the corpus only. It opens what it is told to, drives it through its
// script, and says after each attack how it and the neighbour are.
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { connect } from 'node:net'
import type { Attack, AttackPlacement } from '../case.ts'
import type { Facts } from '../ground/facts.ts'
import type { Aftermath, FromHost, Job, ToHost } from '../protocol.ts'
import { attackBareHost } from './bare-host.ts'
import { listenForThreads } from './ears.ts'
import { LagMeter } from './lag.ts'
import { beginMeanwhile } from './meanwhile.ts'
import type { Neighbour } from './neighbour.ts'
import { openNeighbour } from './neighbour.ts'
import { Performance } from './performance.ts'
import { rememberRealm } from './realm.ts'
import { ownNames } from './resolver.ts'

const tell = (message: FromHost): Promise<void> => new Promise((sent) => void process.send!(message, () => sent()))
const lag = new LagMeter()
const heardByHost = listenForThreads()
const neighbours = new Map<AttackPlacement, Neighbour>()
let told: string[] = []
let longestMessage = 0
let go = (): void => undefined
let ground: { readonly secret: string; readonly facts: Facts; readonly changed: () => readonly string[] }

process.on('message', (message: ToHost) => {
  switch (message.type) {
    case 'start':
      return void start(message)
    case 'job':
      return void run(message.job)
    case 'go':
      return go()
    case 'ping':
      return void tell({ type: 'pong' })
  }
})

async function start({ secret, facts, heldPort }: ToHost & { readonly type: 'start' }): Promise<void> {
  ownNames()
  // Who is killed leaves nothing compiled for those after it, unless it does so in time.
  flushCompileCache()
  const held = connect(heldPort, '127.0.0.1')
  await once(held, 'connect')
  const fds = {
    secret: openSync(`${facts.outside}/secret.txt`, 'r'),
    log: openSync(`${facts.outside}/log.txt`, 'a'),
    socket: (held as unknown as { readonly _handle: { readonly fd: number } })._handle.fd,
  }
  ground = { secret, facts: { ...facts, hostPid: process.pid, fds }, changed: rememberRealm(Object.values(fds)) }
  await tell({ type: 'ready' })
}

async function run(job: Job): Promise<void> {
  const { secret, facts } = ground
  const { placement, layers } = job
  if (!neighbours.has(placement)) neighbours.set(placement, await openNeighbour(placement))
  const stage = new Performance({ job, secret, facts, hear })
  for (const attack of stage.attacks) {
    told = []
    longestMessage = 0
    lag.take()
    lag.takeShare()
    await tell({ type: 'begin', id: attack.id })
    if (layers.gate) await play(attack, stage)
    else await tell({ type: 'step', id: attack.id, seen: ['call', await attackBareHost(attack, facts)] })
    const busyShare = lag.takeShare()
    if (attack === stage.attacks.at(-1)) await stage.close()
    await finish(attack, placement, busyShare)
  }
  await tell({ type: 'idle' })
}

async function play(attack: Attack, stage: Performance): Promise<void> {
  const { id, script } = attack
  const meanwhile = beginMeanwhile(attack, `${ground.facts.work}/own`, ground.secret)
  await meanwhile.beforeStep()
  if (!stage.isOpen) {
    const opened = await stage.take('open', attack)
    if ('refused' in opened || script[0]?.[0] === 'open') await tell({ type: 'step', id, seen: ['open', opened] })
  }
  for (const [step] of script) {
    if (step === 'open' || (step !== 'reopen' && !stage.isOpen)) continue
    await meanwhile.beforeStep()
    await tell({ type: 'step', id, seen: [step, await stage.take(step, attack)] })
  }
  meanwhile.end()
}

async function finish({ id }: Attack, placement: AttackPlacement, busyShare: number): Promise<void> {
  const next = new Promise<void>((resolve) => void (go = resolve))
  const aftermath: Aftermath = {
    neighbour: await neighbours.get(placement)!.answer(),
    lagMs: lag.take(),
    busyShare,
    changed: [...ground.changed(), ...heardByHost()],
    told,
    longestMessage,
  }
  await tell({ type: 'end', id, aftermath })
  await next
}

/** Whatever comes out of a compartment; only what gives the secret away is kept. */
function hear(text: string, kind: 'message' | 'other' = 'other'): void {
  if (kind === 'message') longestMessage = Math.max(longestMessage, text.length)
  if (text.includes(ground.secret)) told.push(text.slice(0, 200))
}
