import { defineSubject } from '../harness/subject.ts'
import { hostOfFleet, hostOfNone } from '../sides/host-fleet.ts'

export const subject = defineSubject({
  title: 'A host is opened: what there is is found, proven and offered',
  compares: 'A project with 1,000 extensions of its own against one with none. Nothing is started.',
  sides: [hostOfNone, hostOfFleet],
  modes: [{ kind: 'latency' }],
  goals: [],
  rounds: 4,
})
