import { defineSubject } from '../harness/subject.ts'
import { guardedCall } from '../sides/guarded-call.ts'

const few = guardedCall({ name: 'guarded call among 10 tools', placement: 'thread', tools: 10, audit: true })
const many = guardedCall({ name: 'guarded call among 10,000 tools', placement: 'thread', tools: 10_000, audit: true })

export const subject = defineSubject({
  title: 'Guarded call in a host with many tools',
  compares: 'The same call of the same tool with different numbers of registered tools.',
  sides: [few, many],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: many.name, measure: 'p50', is: '≤', ratio: 1.1, against: few.name },
    { side: many.name, measure: '64-way', is: '≥', ratio: 0.9, against: few.name },
  ],
})
