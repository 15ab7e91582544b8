import { defineSubject } from '../harness/subject.ts'
import { sessionOfFleet, sessionOfNone } from '../sides/host-fleet.ts'

export const subject = defineSubject({
  title: 'Opening a session and listing its tools',
  compares: 'A host with 1,000 loaded extensions, 50 of them active in threads, and 20 sessions, against an empty host.',
  sides: [sessionOfNone, sessionOfFleet],
  modes: [{ kind: 'latency' }, { kind: 'memory' }],
  goals: [
    { side: 'host with 1,000 loaded, 50 active, 20 sessions', measure: 'p50', is: '≤', ratio: 5_000 },
    { side: 'host with 1,000 loaded, 50 active, 20 sessions', measure: 'p99', is: '≤', ratio: 5_000 },
  ],
  rounds: 4,
})
