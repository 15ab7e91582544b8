import { defineSubject } from '../harness/subject.ts'
import { awakeThread, hullShare, idleThread, idleWorker, nodeShare, residentHull, residentNode } from '../sides/idle-memory.ts'

export const subject = defineSubject({
  title: 'The memory of a compartment that nobody calls: what one more thread adds to its process, and the share of a hull',
  compares: 'Eight of each. A share (PSS) is what one more takes of the machine: pages that several processes have, such as '
    + 'Node itself, count for each by their part. The goal for a hull is held against its share; all that is resident of it '
    + '(RSS) stands beside. '
    + 'A thread is given back when nobody has called it for a while (`idleMs`), and what is left of it then is held against '
    + 'the goal. While it is awake it cannot be met: a bare worker has 4.2 MB of objects of Node itself.',
  sides: [idleWorker, awakeThread, idleThread, nodeShare, hullShare, residentNode, residentHull],
  modes: [{ kind: 'memory' }],
  goals: [
    { side: 'thread compartment, idle', measure: 'idle', is: '≤', ratio: 3 },
    { side: 'share of a hull', measure: 'idle', is: '≤', ratio: 50 },
  ],
  rounds: 4,
})
