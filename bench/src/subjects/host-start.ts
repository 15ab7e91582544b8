import { defineSubject } from '../harness/subject.ts'
import { hostOfFleet, hostOfNone } from '../sides/host-fleet.ts'

export const subject = defineSubject({
  title: 'Opening a host: extensions are found, verified and offered',
  compares: 'A project with 1,000 extensions against one without. No extension is started.',
  sides: [hostOfNone, hostOfFleet],
  modes: [{ kind: 'latency' }],
  goals: [],
  rounds: 4,
})
