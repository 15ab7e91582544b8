import type { Scenario } from '../scenario.ts'
import { says, wants } from '../scripted-model.ts'

export const crash: Scenario = {
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
