import { defineSubject, type Subject } from '../harness/subject.ts'
import { payload, PAYLOAD_BYTES, type Payload } from '../loads/payload.ts'
import { comlinkThreadOf, framedSocketOf, mcpStdioOf, rawPostMessageOf } from '../sides/baselines.ts'
import { processCompartmentOf, threadCompartmentOf } from '../sides/compartment.ts'

/** Floors for calls of any size that is mostly overhead. Long payloads are bound by copying, on every side, and have none. */
const FLOORS = [
  { side: 'compartment in a thread', measure: 'p50', is: '≤', ratio: 1.2, against: 'raw postMessage round trip' },
  { side: 'compartment in a thread', measure: '64-way', is: '≥', ratio: 5, against: 'plain Comlink in a thread' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 1.3, against: 'bare framed socket round trip' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 0.3, against: 'MCP SDK over stdio' },
] as const

/** Calls that carry this much there and back: the cost of a compartment against the minimum, and against other means. */
export const sandboxCalls = (size: string, carried: Payload, goals: typeof FLOORS | readonly []): Subject => defineSubject({
  title: `One call into a compartment that returns its ${size}`,
  compares: 'The sandbox without the host: gate, limits and cancellation on our side, none of it on the others.'
    + ' One call after the other, our side busy-polls (decision 107) while the others sleep.',
  sides: [
    rawPostMessageOf(carried), comlinkThreadOf(carried), framedSocketOf(carried), mcpStdioOf(carried),
    threadCompartmentOf(carried), processCompartmentOf(carried),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals,
})

export const subject = sandboxCalls(`${PAYLOAD_BYTES} bytes`, payload, FLOORS)
