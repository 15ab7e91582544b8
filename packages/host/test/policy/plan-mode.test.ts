import { expect, test } from 'vitest'
import { planModeIn } from '../../src/policy/plan-mode.ts'

test.each([
  ['bundled', 'plan', true], ['global', 'plan', undefined], ['project', 'plan', undefined],
  ['bundled', 'notes', undefined],
])('the %s extension %s decides whether a session plans: %s', (layer, extension, plans) => {
  expect(planModeIn(layer, extension, { planning: true })).toBe(plans)
})
