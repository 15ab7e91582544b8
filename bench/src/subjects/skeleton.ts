import { defineSubject } from '../harness/subject.ts'
import { comlinkThread } from '../sides/comlink-thread.ts'
import { mcpStdio } from '../sides/mcp-stdio.ts'
import { PAYLOAD_BYTES } from '../sides/payload.ts'
import { rawPostMessage } from '../sides/raw-post-message.ts'

export const subject = defineSubject({
  title: `One call of a tool that gives back its ${PAYLOAD_BYTES} bytes`,
  compares: 'A warm tool in another thread or process, called one at a time and with 64 calls under way.',
  sides: [rawPostMessage, comlinkThread, mcpStdio],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [],
})
