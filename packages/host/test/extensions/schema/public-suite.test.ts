import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { needs } from '../../../../../scripts/machine.ts'
import { publicData } from '../../../../../scripts/public-data.ts'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { Validators, type SchemaCheck } from '../../../src/extensions/schema-checks.ts'
import { bundled, groupsOf, type SuiteGroup } from './public-suite.ts'

const OWN_META_SCHEMA = 'names a meta-schema of its own, which would have to be fetched and may redefine every keyword'

const AMBIGUOUS = 'has a $dynamicRef (in two groups: that of the meta-schema) whose target depends on the way that leads to it, which Ajv gets wrong'

/** Parts of the suite that are not accepted, with the reason. At most 25. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[
    'defs.json: validate definition against metaschema',
    'dynamicRef.json: A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated',
    "dynamicRef.json: A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution",
    'dynamicRef.json: A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope',
    'dynamicRef.json: multiple dynamic paths to the $dynamicRef keyword',
    'dynamicRef.json: after leaving a dynamic scope, it is not used by a $dynamicRef',
    'dynamicRef.json: strict-tree schema, guards against misspelled properties',
    'dynamicRef.json: tests for implementation dynamic anchor and reference link',
    'dynamicRef.json: $ref and $dynamicAnchor are independent of order - $defs first',
    'dynamicRef.json: $ref and $dynamicAnchor are independent of order - $ref first',
    'dynamicRef.json: $dynamicRef skips over intermediate resources - direct reference',
    'dynamicRef.json: $dynamicRef avoids the root of each schema, but scopes are still registered',
    'ref.json: remote ref, containing refs itself',
    'unevaluatedItems.json: unevaluatedItems with $dynamicRef',
    'unevaluatedProperties.json: unevaluatedProperties with $dynamicRef',
  ].map((name) => [`draft2020-12/${name}`, AMBIGUOUS] as const),
  ['draft2020-12/vocabulary.json: schema that uses custom metaschema with with no validation vocabulary', OWN_META_SCHEMA],
  ['draft2020-12/vocabulary.json: ignore unrecognized optional vocabulary', OWN_META_SCHEMA],
])

const suite = publicData('json-schema-test-suite')
const groups = suite === undefined ? [] : [...groupsOf(suite, 'draft2020-12'), ...groupsOf(suite, 'draft7')]
/** A third of the groups. `pnpm soak` checks all of them. */
const checked = groups.filter((_, index) => index % thoroughly(3, 1) === 0)

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
  group.tests.filter(({ data, valid }) => (check(data) === undefined) !== valid).map(({ description }) => `${group.name}: ${description}`)

describe('the required files of the public JSON-Schema-Test-Suite', needs('public test data'), () => {
  test('are whole', () => {
    expect(groups.length).toBeGreaterThan(600)
  })

  test('every group has the expected result, and the rejected ones are listed', () => {
    const checks = checked.map((group) => ({ group, check: checkOf(group) }))
    expect(checks.flatMap(({ group, check }) => check === undefined ? [] : wrongOf(group, check))).toEqual([])
    const refused = checks.filter(({ check }) => check === undefined).map(({ group: { name } }) => name)
    expect(REFUSED.size).toBeLessThanOrEqual(25)
    const names = new Set(checked.map(({ name }) => name))
    expect(refused).toEqual([...REFUSED.keys()].filter((name) => names.has(name)))
  })
})
