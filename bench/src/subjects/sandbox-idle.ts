import { defineSubject } from '../harness/subject.ts'
import { idleThread } from './sandbox-memory.ts'

/** By itself: what is measured has to be waited for. */
export const subject = defineSubject({
  title: 'What is left in its process of a thread compartment that nobody has called for a while',
  compares: 'Eight that were opened and given back (`idleMs`), seconds later: pages of ended threads are kept for the next until then. '
    + 'Awake, one takes as much as `sandbox-memory` says, and could not meet this: a bare worker has 4.2 MB of objects of Node itself.',
  sides: [idleThread],
  modes: [{ kind: 'memory' }],
  goals: [{ side: 'thread compartment, idle', measure: 'idle', is: '≤', ratio: 3 }],
  rounds: 4,
})
