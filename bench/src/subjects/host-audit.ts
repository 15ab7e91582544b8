import { defineSubject } from '../harness/subject.ts'
import { guardedCall } from '../sides/guarded-call.ts'

const silent = guardedCall({ name: 'guarded call without audit', placement: 'thread', tools: 1, audit: false })
const audited = guardedCall({ name: 'guarded call with audit', placement: 'thread', tools: 1, audit: true })

export const subject = defineSubject({
  title: 'Cost of the audit for a guarded call',
  compares: 'The same call with and without audit records of its decision and its end.',
  sides: [silent, audited],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  goals: [
    { side: audited.name, measure: 'p50', is: '≤', ratio: 1.15, against: silent.name },
  ],
})
