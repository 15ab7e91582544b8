import { defineSubject } from '../harness/subject.ts'
import { comlinkThread } from '../sides/comlink-thread.ts'
import { guardedCall } from '../sides/guarded-call.ts'
import { mcpStdio } from '../sides/mcp-stdio.ts'
import { PAYLOAD_BYTES } from '../sides/payload.ts'
import { rawPostMessage } from '../sides/raw-post-message.ts'

const GUARDED = { tools: 1, audit: true } as const

export const subject = defineSubject({
  title: `One guarded call of a tool that gives back its ${PAYLOAD_BYTES} bytes`,
  compares: 'Validated, authorized from the cache, hooked, noted and audited in a store on the disk, against others with nothing guarded.'
    + ' One call after the other, ours stays awake for the next while the others sleep.',
  sides: [
    rawPostMessage, comlinkThread, mcpStdio,
    guardedCall({ name: 'guarded call in a process', placement: 'process', ...GUARDED }),
    guardedCall({ name: 'guarded call in a thread', placement: 'thread', ...GUARDED }),
  ],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: 'guarded call in a thread', measure: 'p50', is: '≤', ratio: 1.7, against: 'raw postMessage round trip' },
    { side: 'guarded call in a thread', measure: 'p50', is: '≤', ratio: 1, against: 'plain Comlink in a thread' },
    { side: 'guarded call in a process', measure: 'p50', is: '≤', ratio: 0.5, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a thread', measure: '64-way', is: '≥', ratio: 2, against: 'plain Comlink in a thread' },
    { side: 'guarded call in a thread', measure: '64-way', is: '≥', ratio: 5, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 2, against: 'plain Comlink in a thread' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 5, against: 'MCP SDK over stdio' },
  ],
})
