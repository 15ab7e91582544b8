import { defineSubject } from '../harness/subject.ts'
import { bulkheadProcess, bulkheadThread } from '../sides/bulkhead.ts'
import { comlinkThread } from '../sides/comlink-thread.ts'
import { mcpStdio } from '../sides/mcp-stdio.ts'
import { PAYLOAD_BYTES } from '../sides/payload.ts'
import { rawPostMessage } from '../sides/raw-post-message.ts'

export const subject = defineSubject({
  title: `One call of a tool that gives back its ${PAYLOAD_BYTES} bytes`,
  compares: 'A warm tool in another thread or process, called one at a time and with 64 calls under way.',
  sides: [rawPostMessage, comlinkThread, mcpStdio, bulkheadProcess, bulkheadThread],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: 'bulkhead process', measure: 'p50', is: '≤', ratio: 0.5, against: 'MCP SDK over stdio' },
    { side: 'bulkhead process', measure: '64-way', is: '≥', ratio: 5, against: 'MCP SDK over stdio' },
    { side: 'bulkhead thread', measure: 'p50', is: '≤', ratio: 1.7, against: 'raw postMessage round trip' },
    { side: 'bulkhead thread', measure: 'p50', is: '≤', ratio: 1, against: 'plain Comlink in a thread' },
    { side: 'bulkhead thread', measure: '64-way', is: '≥', ratio: 2, against: 'plain Comlink in a thread' },
  ],
})
