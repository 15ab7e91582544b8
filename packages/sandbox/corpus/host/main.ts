// A host under attack: a process that lives for the corpus only. It opens what it is told to, drives it through its
// script, and says after each attack how it and the neighbour are.
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { connect } from 'node:net'
import type { CompartmentSession, Sandbox } from '@bulkhead/contract'
import { createSandbox } from '../../src/index.ts'
import type { Attack, AttackPlacement } from '../case.ts'
import { attackOf } from '../cases/index.ts'
import type { Facts } from '../ground/facts.ts'
import type { Aftermath, FromHost, Job, ToHost } from '../protocol.ts'
import { attackBareComlink } from './bare-comlink.ts'
import { requestFor } from './compartment.ts'
import type { Place } from './compartment.ts'
import { listenForThreads } from './ears.ts'
import { LagMeter } from './lag.ts'
import { openWithLayers } from './open-with-layers.ts'
import { openNeighbour } from './neighbour.ts'
import type { Neighbour } from './neighbour.ts'
import { rememberRealm } from './realm.ts'
import { ownNames } from './resolver.ts'
import { outcomeOf, perform } from './steps.ts'
import { swapLink } from './swap-link.ts'

const tell = (message: FromHost): Promise<void> => new Promise((sent) => void process.send!(message, () => sent()))
const lag = new LagMeter()
const heardByHost = listenForThreads()
const neighbours = new Map<AttackPlacement, Neighbour>()
const sandboxes = new Map<string, Sandbox>()
let heard: string[] = []
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

async function run({ attacks: ids, placement, layers }: Job): Promise<void> {
  const attacks = ids.map(attackOf)
  const [first] = attacks
  const { secret, facts } = ground
  const workspace = `${facts.work.slice(0, -'work'.length)}${first!.workspace}`
  if (!sandboxes.has(workspace)) sandboxes.set(workspace, createSandbox({ workspace }))
  if (!neighbours.has(placement)) neighbours.set(placement, await openNeighbour(placement))
  const place: Place = { workspace, secret, facts, placement, log: ({ text }) => hear(text) }
  const open = (): Promise<CompartmentSession> => {
    const request = requestFor(attacks, place)
    const whole = layers.lockdown && layers.native && first!.in === 'compartment'
    return whole ? sandboxes.get(workspace)!.open(request) : openWithLayers(request, workspace, layers, first!.in)
  }
  let session: CompartmentSession | undefined
  for (const attack of attacks) {
    heard = []
    longestMessage = 0
    lag.take()
    await tell({ type: 'begin', id: attack.id })
    if (!layers.gate) {
      await attackBareComlink(attack, facts)
    } else if (session === undefined) {
      const opened = await outcomeOf(hear, async () => {
        session = await open()
        return null
      })
      if ('refused' in opened || attack.script[0]?.[0] === 'open') await tell({ type: 'step', id: attack.id, seen: ['open', opened] })
    }
    if (session !== undefined) await drive(attack, session)
    if (attack === attacks.at(-1)) await session?.close()
    await finish(attack, placement)
  }
  await tell({ type: 'idle' })
}

async function drive(attack: Attack, session: CompartmentSession): Promise<void> {
  const rest = attack.meanwhile === 'swaps a link' ? swapLink(`${ground.facts.work}/own`) : () => undefined
  for (const [step] of attack.script) {
    if (step === 'open') continue
    const outcome = await perform(step, { attack, facts: ground.facts, session, hear })
    await tell({ type: 'step', id: attack.id, seen: [step, outcome] })
  }
  rest()
}

async function finish({ id }: Attack, placement: AttackPlacement): Promise<void> {
  const next = new Promise<void>((resolve) => void (go = resolve))
  const aftermath: Aftermath = {
    neighbour: await neighbours.get(placement)!.answer(),
    lagMs: lag.take(),
    changed: [...ground.changed(), ...heardByHost()],
    told: heard,
    longestMessage,
  }
  await tell({ type: 'end', id, aftermath })
  await next
}

/** Whatever comes out of a compartment beside its result; only what gives the secret away is kept. */
function hear(text: string, kind: 'message' | 'other' = 'other'): void {
  if (kind === 'message') longestMessage = Math.max(longestMessage, text.length)
  if (text.includes(ground.secret)) heard.push(text.slice(0, 200))
}

