import { defineSubject, type Subject } from '../harness/subject.ts'
import { payload, PAYLOAD_BYTES, type Payload } from '../loads/payload.ts'
import { comlinkThreadOf, framedSocketOf, mcpStdioOf, rawPostMessageOf } from '../sides/baselines.ts'
import { processCompartmentOf, threadCompartmentOf } from '../sides/compartment.ts'

/** Goals for calls that are mostly overhead. Copying bounds long payloads on every side, so these have no goals. */
const FLOORS = [
  { side: 'compartment in a thread', measure: 'p50', is: '≤', ratio: 1.2, against: 'raw postMessage round trip' },
  { side: 'compartment in a thread', measure: '64-way', is: '≥', ratio: 5, against: 'plain Comlink in a thread' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 1.3, against: 'bare framed socket round trip' },
  { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 0.3, against: 'MCP SDK over stdio' },
] as const

/** Calls with this payload: the cost of a compartment against the minimum and against other transports. */
export const sandboxCalls = (
  size: string, carried: Payload, goals: typeof FLOORS | readonly [],
): Subject => defineSubject({
  title: `Call into a compartment that returns ${size}`,
  compares: 'The sandbox without the host. Our side has a gate, limits and cancellation; the others have none.'
    + ' For sequential calls our side busy-polls (decision 107); the others sleep.',
  sides: [
    rawPostMessageOf(carried), comlinkThreadOf(carried), framedSocketOf(carried), mcpStdioOf(carried),
    threadCompartmentOf(carried), processCompartmentOf(carried),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals,
})

export const subject = sandboxCalls(`${PAYLOAD_BYTES} bytes`, payload, FLOORS)
