import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { needs } from '../../../../../scripts/machine.ts'
import { publicData } from '../../../../../scripts/public-data.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { Validators, type SchemaCheck } from '../../../src/extensions/schema-checks.ts'
import { bundled, groupsOf, type SuiteGroup } from './public-suite.ts'

const suite = publicData('json-schema-test-suite')
const groups = suite === undefined ? [] : [...groupsOf(suite, 'draft2020-12'), ...groupsOf(suite, 'draft7')]
/** A third of the groups. `pnpm soak` checks all of them. */
const checked = groups.filter((_, index) => index % thoroughly(9, 1) === 0)

/** The schema, bundled with the schemas that it refers to. */
function checkOf(group: SuiteGroup): SchemaCheck | undefined {
  for (const schema of [group.schema, bundled(suite!, group, false), bundled(suite!, group, true)]) {
    try {
      return new Validators().compile(schema as JsonObject)
    } catch {
      continue
    }
  }
  return undefined
}

const wrongOf = (group: SuiteGroup, check: SchemaCheck) =>
  group.tests
    .filter(({ data, valid }) => (check(data) === undefined) !== valid)
    .map(({ description }) => `${group.name}: ${description}`)

describe('the required files of the public JSON-Schema-Test-Suite', needs('public test data'), () => {
  test('are whole', () => {
    expect(groups.length).toBeGreaterThan(600)
  })

  test('no group is rejected, and each has the expected result', () => {
    const checks = checked.map((group) => ({ group, check: checkOf(group) }))
    expect(checks.flatMap(({ group, check }) => check === undefined ? [] : wrongOf(group, check))).toEqual([])
    expect(checks.filter(({ check }) => check === undefined).map(({ group: { name } }) => name)).toEqual([])
  })
})
