import type { BulkheadError, ToolInvocation } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { defineSubject, type Runner, type Side, type Subject } from '../harness/subject.ts'
import {
  echoRequest, LARGE_PAYLOAD_BYTES, largePayload, payload, PAYLOAD_BYTES, type Payload,
} from '../loads/echo.ts'
import { comlinkThreadOf, framedSocketOf, mcpStdioOf, rawPostMessageOf } from './baselines.ts'

/** One call of the echo tool. It can be cancelled, and creates a signal only on demand. */
class EchoCall implements ToolInvocation {
  readonly callId: string
  readonly tool = 'echo'
  readonly args: JsonObject
  cancel: ((reason: BulkheadError) => void) | undefined

  constructor(callId: string, args: JsonObject) {
    this.callId = callId
    this.args = args
  }

  get signal(): AbortSignal {
    const controller = new AbortController()
    this.cancel = (reason) => controller.abort(reason)
    return controller.signal
  }

  onCancel(listener: (reason: BulkheadError) => void): void {
    this.cancel = listener
  }
}

/** A tool in its compartment, called as the pipeline of the host does: each call can be cancelled separately. */
const compartmentIn = <const Placement extends 'thread' | 'process'>(placement: Placement, payloadOf: Payload) => ({
  name: `compartment in a ${placement}`,
  answer: payloadOf,
  start: async (): Promise<Runner> => {
    const sandbox = createSandbox({ workspace: '/' })
    const session = await sandbox.open(await echoRequest(placement))
    const died = session.ended.then((end): never => {
      throw end.kind === 'failed' ? end.error : new Error('it was closed')
    })
    died.catch(() => {}) // Rejects when the session is closed, which must not be an unhandled rejection.
    const run = (i: number) => session.call(new EchoCall(`c${i}`, payloadOf(i)))
    return { run, died, stop: () => sandbox.close() }
  },
} as const satisfies Side)

/** Goals for calls that are mostly overhead. Copying bounds long payloads on every side, so these have no goals. */
const FLOORS = [
  { side: 'compartment in a thread', measure: 'p50', is: '≤', ratio: 1.2, against: 'raw postMessage round trip' },
  { side: 'compartment in a thread', measure: '64-way', is: '≥', ratio: 5, against: 'plain Comlink in a thread' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 1.3, against: 'bare framed socket round trip' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 0.3, against: 'MCP SDK over stdio' },
] as const

/** Calls with this payload: the cost of a compartment against the minimum and against other transports. */
const sandboxCalls = (
  size: string, payloadOf: Payload, ratios: typeof FLOORS | readonly [],
): Subject => defineSubject({
  title: `Call into a compartment that returns ${size}`,
  compares: 'The sandbox without the host. Our side has a gate, limits and cancellation; the others have none.'
    + ' For sequential calls our side busy-polls (decision 107); the others sleep.',
  sides: [
    rawPostMessageOf(payloadOf), comlinkThreadOf(payloadOf), framedSocketOf(payloadOf), mcpStdioOf(payloadOf),
    compartmentIn('thread', payloadOf), compartmentIn('process', payloadOf),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  ratios,
})

export const sandboxSmall = sandboxCalls(`${PAYLOAD_BYTES} bytes`, payload, FLOORS)
export const sandboxLarge = sandboxCalls(`${LARGE_PAYLOAD_BYTES / 1000} KB`, largePayload, [])
