import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { CompartmentRequest, CompartmentSession, Json } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { expect, it, onTestFinished } from 'vitest'
import { Random } from '../soak/random.ts'
import { Broker } from '../src/main/broker/broker.ts'
import { startSession } from '../src/main/open.ts'
import { remotePeer } from '../src/main/remote-peer.ts'
import { TRUSTING } from '../src/wire/link.ts'
import { KINDS } from '../src/wire/message.ts'
import { invocation, requestOf } from './fixture.ts'
import { MemoryWire } from './gate-property/memory-wire.ts'
import type { Said } from './gate-property/oracle.ts'
import { allowed } from './gate-property/oracle.ts'
import { somePacket } from './gate-property/packets.ts'

const PACKETS = 100_000
/** Say it by SEED=… to see a failure again. */
const SEED = Number(process.env['SEED'] ?? Date.now() % 2 ** 32)
const CALLS_AT_ONCE = 3
const PACKETS_PER_COMPARTMENT = 50
const LIMITS = { outstandingRequests: 24, messagesPerSecond: 1e9, messageBytes: 400_000, concurrentCalls: 1e6 }
const GROWTH_BYTES = 16 * 1024 * 1024

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

interface Call {
  readonly id: number
  readonly callId: string
  settlements: number
  outcome: { readonly value: Json } | { readonly error: unknown } | undefined
}

/** A session, the other side of which is this script, and what it knows to be open. */
class Conversation {
  readonly wire = new MemoryWire()
  readonly calls: Call[] = []
  readonly requests = new Set<number>()
  readonly #held: (() => void)[] = []
  readonly #request: CompartmentRequest
  #session!: CompartmentSession
  #lastId = 1_000

  constructor() {
    const state = { read: () => new Promise<Json>((resolve) => void this.#held.push(() => resolve(null))), write: async () => undefined }
    this.#request = requestOf({ placement: 'process', source: '', limits: LIMITS, services: { state } })
  }

  async open(): Promise<void> {
    const broker = new Broker(this.#request, '/')
    const opening = startSession(this.#request, broker, remotePeer(this.wire.hull, broker, this.#request.limits))
    await turn()
    const [load] = this.#hear()
    this.wire.post(JSON.stringify([KINDS.call.value, load!.id, { tools: [{ name: 'run', approvalKey: false }], phases: [] }]))
    this.#session = await opening
  }

  get ended(): CompartmentSession['ended'] {
    return this.#session.ended
  }

  get openCalls(): readonly Call[] {
    return this.calls.filter(({ outcome }) => outcome === undefined)
  }

  get ground(): Parameters<typeof somePacket>[1] {
    return {
      questions: this.openCalls.map(({ id }) => id),
      requests: [...this.requests],
      callIds: this.openCalls.map(({ callId }) => callId),
      freshId: () => ++this.#lastId,
    }
  }

  /** Keeps some calls open. */
  async call(): Promise<void> {
    const invocations = Array.from({ length: CALLS_AT_ONCE - this.openCalls.length }, () => invocation())
    if (invocations.length === 0) return
    const promises = invocations.map((one) => this.#session.call(one))
    await turn()
    const questions = this.#hear().filter(({ kind }) => kind === KINDS.call.request)
    for (const [index, promise] of promises.entries()) {
      const call: Call = { id: questions[index]!.id, callId: invocations[index]!.callId, settlements: 0, outcome: undefined }
      const settle = (outcome: Call['outcome']): void => {
        call.settlements++
        call.outcome = outcome
      }
      promise.then((value) => settle({ value }), (error: unknown) => settle({ error }))
      this.calls.push(call)
    }
  }

  /** What the host said since the last time; answers to requests close them. */
  #hear(): readonly { readonly kind: number; readonly id: number }[] {
    const messages = this.wire.sent.splice(0).flatMap((packet) => TRUSTING.received(packet))
    for (const [kind, id] of messages) {
      if (kind === KINDS.broker.value || kind === KINDS.broker.failure) assert(this.requests.delete(id))
    }
    return messages.map(([kind, id]) => ({ kind, id }))
  }

  /** The answers of a broker take a few turns; those that are held are let go now and then. */
  async settle(letGo: boolean): Promise<void> {
    if (letGo) for (const answer of this.#held.splice(0)) answer()
    await turn()
    await turn()
    this.#hear()
  }
}

/** Everything that a stranger's message must leave as it is. */
const surroundings = (): string => JSON.stringify([
  Object.getOwnPropertyNames(globalThis).length,
  ...[Object, Array, Function, Promise, String, Map, BulkheadError].map(({ prototype }) => Reflect.ownKeys(prototype).map(String)),
])

function collector(): () => number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  // Threads that are started later would have it too.
  setFlagsFromString('--no-expose-gc')
  return () => {
    gc()
    return process.memoryUsage().heapUsed
  }
}

const VIOLATIONS: ReadonlySet<string> = new Set(['BoundaryViolation', 'MessageTooLarge', 'TooManyRequests'])

/** The fast assertions, for what is looked at a hundred thousand times. */
async function violated(conversation: Conversation): Promise<void> {
  const open = conversation.openCalls
  const end = await Promise.race([conversation.ended, turn().then(turn).then(turn)])
  const code = end?.kind === 'failed' ? end.error.code : 'still open'
  assert(VIOLATIONS.has(code), code)
  assert(conversation.wire.killed)
  for (const { outcome } of open) assert.equal(codeIn(outcome), code)
}

function answered(conversation: Conversation, said: readonly Said[]): void {
  assert(!conversation.wire.killed)
  for (const one of said) {
    if (one.type === 'request') continue
    const { outcome } = conversation.calls.find(({ id }) => id === one.id)!
    if (one.type === 'value') assert.deepEqual(outcome, { value: one.value })
    else assert.equal(typeof codeIn(outcome), 'string')
  }
}

const codeIn = (outcome: Call['outcome']): unknown =>
  outcome !== undefined && 'error' in outcome && BulkheadError.is(outcome.error) ? outcome.error.code : undefined

/** Posts one packet and holds what comes of it against what should. */
async function post(conversation: Conversation, packet: unknown, letGo: boolean): Promise<readonly Said[] | undefined> {
  const questions = new Set(conversation.openCalls.map(({ id }) => id))
  const said = allowed(packet, { questions, requests: conversation.requests, limits: LIMITS })
  for (const one of said ?? []) if (one.type === 'request') conversation.requests.add(one.id)
  try {
    conversation.wire.post(packet)
    if (said === undefined) await violated(conversation)
    else {
      await conversation.settle(letGo)
      answered(conversation, said)
    }
  } catch (error) {
    throw new Error(`With SEED=${SEED}, by ${inspect(packet, { maxStringLength: 2_000, maxArrayLength: 5 })}`, { cause: error })
  }
  return said
}

it(`holds against ${PACKETS} packets of every kind`, { timeout: 180_000 }, async () => {
  const random = new Random(SEED)
  const heap = collector()
  const before = surroundings()
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, note)
    onTestFinished(() => void process.off(event, note))
  }
  const seen = { allowed: 0, refused: 0, compartments: 0, calls: 0, requests: 0 }
  let warm = 0
  for (let packets = 0; packets < PACKETS;) {
    const conversation = new Conversation()
    await conversation.open()
    seen.compartments++
    let alive = true
    for (let turns = 0; alive && turns < PACKETS_PER_COMPARTMENT; turns++, packets++) {
      await conversation.call()
      const said = await post(conversation, somePacket(random, conversation.ground), random.chance(0.2))
      if (said === undefined) {
        alive = false
        seen.refused++
        // It is over: nothing that comes later is heard.
        for (let late = 0; late < 3; late++) conversation.wire.post(somePacket(random, conversation.ground))
      } else {
        seen.allowed++
        seen.requests += said.filter(({ type }) => type === 'request').length
      }
    }
    if (alive) conversation.wire.exit()
    await conversation.ended
    await turn()
    seen.calls += conversation.calls.length
    assert(conversation.calls.every(({ settlements }) => settlements === 1))
    if (warm === 0 && packets > PACKETS / 5) warm = heap()
  }
  expect(heap() - warm).toBeLessThan(GROWTH_BYTES)
  expect(surroundings()).toBe(before)
  expect(unhandled).toEqual([])
  // The generator reaches both sides of the border, and often.
  expect(seen.allowed).toBeGreaterThan(PACKETS / 3)
  expect(seen.refused).toBeGreaterThan(PACKETS / 10)
  expect(seen.requests).toBeGreaterThan(PACKETS / 5)
  expect(seen.calls).toBeGreaterThan(PACKETS / 10)
})

it.each([
  ['in one packet', (requests: readonly unknown[]) => [JSON.stringify(requests)]],
  ['one after the other', (requests: readonly unknown[]) => requests.map((request) => JSON.stringify(request))],
])('ends a compartment that floods it with proper requests %s', async (_how, packetsOf) => {
  const conversation = new Conversation()
  await conversation.open()
  await conversation.call()
  const requests = Array.from({ length: LIMITS.outstandingRequests + 1 }, (_, id) => [KINDS.broker.request, id, 'state.read', ['nobody']])
  for (const packet of packetsOf(requests)) conversation.wire.post(packet)
  await violated(conversation)
})
