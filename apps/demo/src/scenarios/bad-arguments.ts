import type { Scenario } from '../scenario.ts'
import { says, wants } from '../scripted-model.ts'

export const badArguments: Scenario = {
  title: 'Bad arguments never reach the tool, and the model can mend them',
  * script() {
    yield wants('Now to Copenhagen, at full speed.', 'plan_voyage', { from: 'Oslo', to: 'Copenhagen', knots: 'full' })
    yield wants('It wants a number.', 'plan_voyage', { from: 'Oslo', to: 'Copenhagen', knots: 18 })
    yield wants('And is there a tool for the tides?', 'predict_tides', {})
    return says('No. Then that is all I can tell.')
  },
  expected: [
    { error: 'InputInvalid', says: /knots/ },
    { output: { from: 'Oslo', to: 'Copenhagen', miles: 270, hours: 15 } },
    { error: 'ToolNotRegistered', says: /predict_tides/ },
  ],
}
