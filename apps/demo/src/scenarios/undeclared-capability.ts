import type { Scenario } from '../scenario.ts'
import { says, wants } from '../scripted-model.ts'

export const undeclaredCapability: Scenario = {
  title: 'A tool reaches for more than it declared',
  * script() {
    yield wants('This tool says it reads charts. Does it read other things?', 'look_around', { path: 'logbook.md' })
    yield wants('Or the files of the machine?', 'look_around', { path: '/etc/passwd' })
    return says('It does not. Good.')
  },
  expected: [{ error: 'CapabilityDenied', says: /logbook\.md/ }, { error: 'CapabilityDenied' }],
}
