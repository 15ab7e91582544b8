import type { Scenario } from '../scenario.ts'
import { says, wants } from '../scripted-model.ts'

export const goodCall: Scenario = {
  title: 'An agent uses a bundled tool, then a stranger’s tool in its own compartment',
  * script() {
    const [log] = yield wants('Let me see what the logbook says.', 'read', { path: 'logbook.md', limit: 3 })
    if (!log?.content.includes('Bergen')) return says('The logbook says nothing of a port.')
    const [voyage] = yield wants('Bergen it is. How long does that take?', 'plan_voyage', { from: 'Oslo', to: 'Bergen', knots: 10 })
    return says(`So it is ${JSON.parse(voyage?.content ?? '{}').hours} hours: within two days.`)
  },
  expected: [
    { output: { path: 'logbook.md', content: '# Logbook\n\nCargo for Bergen is on board. The crew wants to be there within two days.\n', lines: { from: 1, to: 3, total: 3 } } },
    { output: { from: 'Oslo', to: 'Bergen', miles: 330, hours: 33 } },
  ],
}
