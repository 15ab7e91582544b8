import assert from 'node:assert/strict'
import type { CompartmentRequest, CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { Broker } from '../../../broker/src/broker.ts'
import { startSession } from '../../src/session/open.ts'
import { remotePeer } from '../../src/session/peer.ts'
import { TRUSTING } from '../../src/wire/link.ts'
import { KINDS } from '../../src/wire/message.ts'
import { invocation, requestOf } from '../fixture.ts'
import { MemoryWire } from './memory-wire.ts'
import type { SentMessage } from './oracle.ts'
import type { somePacket } from './packets.ts'

const CALLS_AT_ONCE = 3
export const LIMITS = { outstandingRequests: 24, messagesPerSecond: 1e9, messageBytes: 400_000, concurrentCalls: 1e6 }

export const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

interface Call {
  readonly id: number
  readonly callId: string
  settlements: number
  outcome: { readonly value: Json } | { readonly error: unknown } | undefined
}

/** A session whose compartment is this script, with the requests that are open on both sides. */
export class Conversation {
  readonly wire = new MemoryWire()
  readonly calls: Call[] = []
  readonly requests = new Set<number>()
  readonly #held: (() => void)[] = []
  readonly #request: CompartmentRequest
  #session!: CompartmentSession
  #lastId = 1_000

  constructor() {
    const state = {
      read: () => new Promise<Json>((resolve) => void this.#held.push(() => resolve(null))),
      write: async () => undefined,
    }
    this.#request = requestOf({ placement: 'process', source: '', limits: LIMITS, services: { state } })
  }

  async open(): Promise<void> {
    const broker = new Broker(this.#request, '/')
    const opening = startSession(this.#request, broker, remotePeer(this.wire.hull, broker, this.#request.limits))
    await turn()
    const [load] = this.#receive()
    this.wire.post(
      JSON.stringify([KINDS.call.value, load!.id, { tools: [{ name: 'run', approvalKey: false }], phases: [] }]),
    )
    this.#session = await opening
  }

  get ended(): CompartmentSession['ended'] {
    return this.#session.ended
  }

  get openCalls(): readonly Call[] {
    return this.calls.filter(({ outcome }) => outcome === undefined)
  }

  get openIds(): Parameters<typeof somePacket>[1] {
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
    const questions = this.#receive().filter(({ kind }) => kind === KINDS.call.request)
    for (const [index, promise] of promises.entries()) {
      const call: Call = {
        id: questions[index]!.id, callId: invocations[index]!.callId, settlements: 0, outcome: undefined,
      }
      const settle = (outcome: Call['outcome']): void => {
        call.settlements++
        call.outcome = outcome
      }
      promise.then((value) => settle({ value }), (error: unknown) => settle({ error }))
      this.calls.push(call)
    }
  }

  /** The messages of the host since the last call. A reply closes its request. */
  #receive(): readonly { readonly kind: number; readonly id: number }[] {
    const messages = this.wire.sent.splice(0).flatMap((packet) => TRUSTING.received(packet))
    for (const [kind, id] of messages) {
      if (kind === KINDS.broker.value || kind === KINDS.broker.failure) assert(this.requests.delete(id))
    }
    return messages.map(([kind, id]) => ({ kind, id }))
  }

  /** The broker needs a few turns to reply. Requests that it holds are released now and then. */
  async settle(letGo: boolean): Promise<void> {
    if (letGo) for (const answer of this.#held.splice(0)) answer()
    await turn()
    await turn()
    this.#receive()
  }
}

const VIOLATIONS: ReadonlySet<string> = new Set(['BoundaryViolation', 'MessageTooLarge', 'TooManyRequests'])

/** Faster than `expect`, for checks that run a hundred thousand times. */
export async function violated(conversation: Conversation): Promise<void> {
  const open = conversation.openCalls
  const end = await Promise.race([conversation.ended, turn().then(turn).then(turn)])
  const code = end?.kind === 'failed' ? end.error.code : 'still open'
  assert(VIOLATIONS.has(code), code)
  assert(conversation.wire.killed)
  for (const { outcome } of open) assert.equal(codeIn(outcome), code)
}

export function answered(conversation: Conversation, sent: readonly SentMessage[]): void {
  assert(!conversation.wire.killed)
  for (const one of sent) {
    if (one.type === 'request') continue
    const { outcome } = conversation.calls.find(({ id }) => id === one.id)!
    if (one.type === 'value') assert.deepEqual(outcome, { value: one.value })
    else assert.equal(typeof codeIn(outcome), 'string')
  }
}

const codeIn = (outcome: Call['outcome']): unknown =>
  outcome !== undefined && 'error' in outcome && BulkheadError.is(outcome.error) ? outcome.error.code : undefined
