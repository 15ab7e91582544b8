import { readFileSync } from 'node:fs'
import type { Scenario } from './scenario.ts'
import { says, wants } from './scripted-model.ts'

const goodCall: Scenario = {
  title: 'An agent calls a bundled tool, then a third-party tool in its own compartment',
  * script() {
    const [log] = yield wants('Let me read the logbook.', 'read', { path: 'logbook.md', limit: 3 })
    if (!log?.content.includes('Bergen')) return says('The logbook does not name a port.')
    const route = { from: 'Oslo', to: 'Bergen', knots: 10 }
    const [voyage] = yield wants('The destination is Bergen. How long does the voyage take?', 'plan_voyage', route)
    return says(`It takes ${JSON.parse(voyage?.content ?? '{}').hours} hours, which is within two days.`)
  },
  expected: [
    {
      output: {
        path: 'logbook.md',
        content: '# Logbook\n\nCargo for Bergen is on board. The crew wants to be there within two days.\n',
        lines: { from: 1, to: 3, total: 3 },
      },
    },
    { output: { from: 'Oslo', to: 'Bergen', miles: 330, hours: 33 } },
  ],
}

const badArguments: Scenario = {
  title: 'Invalid arguments never reach the tool, and the model can correct them',
  * script() {
    const route = { from: 'Oslo', to: 'Copenhagen' }
    yield wants('Next: Oslo to Copenhagen at full speed.', 'plan_voyage', { ...route, knots: 'full' })
    yield wants('The speed must be a number.', 'plan_voyage', { ...route, knots: 18 })
    yield wants('Is there a tool for tides?', 'predict_tides', {})
    return says('There is no such tool, so that is all I can do.')
  },
  expected: [
    { error: 'InputInvalid', message: /knots/ },
    { output: { from: 'Oslo', to: 'Copenhagen', miles: 270, hours: 15 } },
    { error: 'ToolNotRegistered', message: /predict_tides/ },
  ],
}

const undeclaredCapability: Scenario = {
  title: 'A tool tries to read files that it did not declare',
  * script() {
    yield wants('This tool declares only the charts. Can it read another file?', 'look_around', { path: 'logbook.md' })
    yield wants('Can it read a system file?', 'look_around', { path: '/etc/passwd' })
    return says('Both reads were denied.')
  },
  expected: [{ error: 'CapabilityDenied', message: /logbook\.md/ }, { error: 'CapabilityDenied' }],
}

const hang: Scenario = {
  title: 'A tool hangs: it is stopped, and other tools keep running',
  * script() {
    yield wants('Call a tool that never returns.', 'drift', {})
    const route = { from: 'Bergen', to: 'Aberdeen', knots: 10 }
    yield wants('It timed out. Does the other tool still work?', 'plan_voyage', route)
    return says('It does.')
  },
  expected: [{ error: 'ExecutionTimeout' }, { output: { from: 'Bergen', to: 'Aberdeen', miles: 310, hours: 31 } }],
}

const crash: Scenario = {
  title: 'A tool crashes its thread: the caller gets an error, and the next call restarts it',
  * script() {
    yield wants('Call a tool that crashes.', 'sink', {})
    yield wants('It crashed. Does the rest of that package still work?', 'look_around', { path: 'charts.json' })
    return says('It does: it was restarted in a new compartment.')
  },
  expected: [
    { error: 'CompartmentCrashed', message: /abandon ship/ },
    { output: readFileSync(new URL('../workspace/charts.json', import.meta.url), 'utf8') },
  ],
}

export const SCENARIOS: readonly Scenario[] = [goodCall, badArguments, undeclaredCapability, hang, crash]
