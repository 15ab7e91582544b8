import { defineSubject } from '../harness/subject.ts'
import { idleThread } from './sandbox-memory.ts'

export const subject = defineSubject({
  title: 'Memory of an idle thread compartment after its thread was released',
  compares: 'Eight compartments, some seconds after their threads were released (`idleMs`), because V8 keeps pages of '
    + 'ended threads for a while. The memory of a running one is in `sandbox-memory`: a bare worker alone has 4.2 MB of '
    + 'objects of Node.',
  sides: [idleThread],
  modes: [{ kind: 'memory' }],
  goals: [{ side: 'thread compartment, idle', measure: 'idle', is: '≤', ratio: 3 }],
  rounds: 4,
})
