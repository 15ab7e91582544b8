import { defineSubject } from '../harness/subject.ts'
import { PAYLOAD_BYTES } from '../loads/payload.ts'
import { comlinkThread, mcpStdio, rawPostMessage } from '../sides/baselines.ts'
import { guardedCall } from '../sides/guarded-call.ts'

const GUARDED = { tools: 1, audit: true } as const

export const subject = defineSubject({
  title: `Guarded call of a tool that returns ${PAYLOAD_BYTES} bytes`,
  compares: 'A call with validation, cached approval, hooks, journal and audit on disk, against transports without '
    + 'guards. For sequential calls our side busy-polls (decision 107); the others sleep.',
  sides: [
    rawPostMessage, comlinkThread, mcpStdio,
    guardedCall({ name: 'guarded call in a process', placement: 'process', ...GUARDED }),
    guardedCall({ name: 'guarded call in a thread', placement: 'thread', ...GUARDED }),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: 'guarded call in a thread', measure: 'p50', is: '≤', ratio: 1.2, against: 'plain Comlink in a thread' },
    { side: 'guarded call in a process', measure: 'p50', is: '≤', ratio: 0.4, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 2.5, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 1.5, against: 'plain Comlink in a thread' },
  ],
})
