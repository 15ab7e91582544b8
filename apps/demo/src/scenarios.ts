import type { Scenario } from './scenario.ts'
import { says, wants } from './scripted-model.ts'

const goodCall: Scenario = {
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

const badArguments: Scenario = {
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

const undeclaredCapability: Scenario = {
  title: 'A tool reaches for more than it declared',
  * script() {
    yield wants('This tool says it reads charts. Does it read other things?', 'look_around', { path: 'logbook.md' })
    yield wants('Or the files of the machine?', 'look_around', { path: '/etc/passwd' })
    return says('It does not. Good.')
  },
  expected: [{ error: 'CapabilityDenied', says: /logbook\.md/ }, { error: 'CapabilityDenied' }],
}

const hang: Scenario = {
  title: 'A tool hangs: it is stopped, and its neighbour goes on',
  * script() {
    yield wants('Let us drift for a while.', 'drift', {})
    yield wants('That took too long. Back to the harbour.', 'plan_voyage', { from: 'Bergen', to: 'Aberdeen', knots: 10 })
    return says('All is well there.')
  },
  expected: [{ error: 'ExecutionTimeout' }, { output: { from: 'Bergen', to: 'Aberdeen', miles: 310, hours: 31 } }],
}

const crash: Scenario = {
  title: 'A tool crashes its thread: the caller gets an error, and the next call restarts it',
  * script() {
    yield wants('What does this one do?', 'sink', {})
    yield wants('It sank. Is the rest of that package still there?', 'look_around', { path: 'charts.json' })
    return says('It was started again, in a new compartment.')
  },
  expected: [
    { error: 'CompartmentCrashed', says: /abandon ship/ },
    { output: '{\n  "unit": "nautical miles",\n  "routes": [\n    { "from": "Oslo", "to": "Bergen", "distance": 330 },\n    { "from": "Oslo", "to": "Copenhagen", "distance": 270 },\n    { "from": "Bergen", "to": "Aberdeen", "distance": 310 }\n  ]\n}\n' },
  ],
}

export const SCENARIOS: readonly Scenario[] = [goodCall, badArguments, undeclaredCapability, hang, crash]
