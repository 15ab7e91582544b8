import { defineSubject } from '../harness/subject.ts'
import { idleHull, idleNode, idleThread, idleWorker } from '../sides/idle-memory.ts'

export const subject = defineSubject({
  title: 'The memory of a compartment that nobody calls',
  compares: 'Resident memory: what one more thread adds to its process, and all of a process with what it shares with others. '
    + 'A bare worker is above the goal for a thread; a bare node with one, and 3 MB of bubblewrap, above that for a hull.',
  sides: [idleWorker, idleThread, idleNode, idleHull],
  modes: [{ kind: 'memory' }],
  goals: [
    { side: 'thread compartment', measure: 'idle', is: '≤', ratio: 3 },
    { side: 'hull', measure: 'idle', is: '≤', ratio: 50 },
  ],
  rounds: 4,
})
