import { defineSubject } from '../harness/subject.ts'
import type { Subject } from '../harness/subject.ts'
import { comlinkThreadOf } from '../sides/comlink-thread.ts'
import { processCompartmentOf, threadCompartmentOf } from '../sides/compartment.ts'
import { framedSocketOf } from '../sides/framed-socket.ts'
import { mcpStdioOf } from '../sides/mcp-stdio.ts'
import type { Payload } from '../sides/payload.ts'
import { rawPostMessageOf } from '../sides/raw-post-message.ts'

/** Calls that carry this much there and back: what a compartment costs against the floor, and against what else is used. */
export const sandboxCalls = (size: string, carried: Payload): Subject => defineSubject({
  title: `One call into a compartment that gives back its ${size}`,
  compares: 'The sandbox without the host around it: gate, limits and cancellation on our side, nothing of it on the others\'.'
    + ' One call after the other, ours stays awake for the next while the others sleep.',
  sides: [
    rawPostMessageOf(carried), comlinkThreadOf(carried), framedSocketOf(carried), mcpStdioOf(carried),
    threadCompartmentOf(carried), processCompartmentOf(carried),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: 'compartment in a thread', measure: 'p50', is: '≤', ratio: 1.5, against: 'raw postMessage round trip' },
    { side: 'compartment in a thread', measure: '64-way', is: '≥', ratio: 1, against: 'raw postMessage round trip' },
    { side: 'compartment in a thread', measure: '64-way', is: '≥', ratio: 2.5, against: 'plain Comlink in a thread' },
    { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 1.4, against: 'bare framed socket round trip' },
    { side: 'compartment in a process', measure: 'p50', is: '≤', ratio: 0.5, against: 'MCP SDK over stdio' },
    { side: 'compartment in a process', measure: '64-way', is: '≥', ratio: 5, against: 'MCP SDK over stdio' },
    { side: 'compartment in a process', measure: '64-way', is: '≥', ratio: 2, against: 'plain Comlink in a thread' },
  ],
})
