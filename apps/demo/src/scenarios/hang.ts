import type { Scenario } from '../scenario.ts'
import { says, wants } from '../scripted-model.ts'

export const hang: Scenario = {
  title: 'A tool hangs: it is stopped, and its neighbour goes on',
  * script() {
    yield wants('Let us drift for a while.', 'drift', {})
    yield wants('That took too long. Back to the harbour.', 'plan_voyage', { from: 'Bergen', to: 'Aberdeen', knots: 10 })
    return says('All is well there.')
  },
  expected: [{ error: 'ExecutionTimeout' }, { output: { from: 'Bergen', to: 'Aberdeen', miles: 310, hours: 31 } }],
}
