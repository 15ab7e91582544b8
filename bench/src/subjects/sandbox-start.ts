import { defineSubject } from '../harness/subject.ts'
import { bareNode, bareWorker, coldProcess, coldThread, warmProcess, warmThread } from '../sides/activation.ts'

export const subject = defineSubject({
  title: 'A compartment is opened: placed, locked down, its code imported and held against its manifest',
  compares: 'A host that has opened one before, with all walls of the system that work here, against threads and processes that '
    + 'do nothing. A cold process is Node behind those walls and a thread in it; empty, these alone take 1.8 × a bare node.',
  sides: [bareWorker, bareNode, warmThread, coldThread, warmProcess, coldProcess],
  modes: [{ kind: 'latency' }],
  goals: [
    { side: 'thread from a warm spare', measure: 'p50', is: '≤', ratio: 0.3, against: 'bare new Worker' },
    { side: 'process from a warm spare', measure: 'p50', is: '≤', ratio: 0.3, against: 'bare new Worker' },
    { side: 'cold thread', measure: 'p50', is: '≤', ratio: 2, against: 'bare new Worker' },
    { side: 'cold process', measure: 'p50', is: '≤', ratio: 2, against: 'bare node -e 0' },
  ],
  rounds: 12,
})
