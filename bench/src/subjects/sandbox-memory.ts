import { defineSubject } from '../harness/subject.ts'
import { awakeThread, hullShare, idleWorker, nodeShare, residentHull, residentNode } from '../sides/idle-memory.ts'

export const subject = defineSubject({
  title: 'The memory of a compartment that nobody calls: what one more thread adds to its process, and the share of a hull',
  compares: 'Eight of each. A share (PSS) is what one more takes of the machine: pages that several processes have, such as '
    + 'Node itself, count for each by their part. The goal for a hull is held against its share; all that is resident of it '
    + '(RSS) stands beside.',
  sides: [idleWorker, awakeThread, nodeShare, hullShare, residentNode, residentHull],
  modes: [{ kind: 'memory' }],
  goals: [
    { side: 'share of a hull', measure: 'idle', is: '≤', ratio: 50 },
  ],
  rounds: 4,
})
