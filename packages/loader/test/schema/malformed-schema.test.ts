import { expect, test } from 'vitest'
import { HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { expectRefusal, type MalformedManifest } from '../malformed.ts'

const withTool = (over: Record<string, unknown>) => manifestOf({ tools: [toolOf(over)] })
const withInput = (schema: object) => withTool({ inputSchema: { type: 'object', ...schema } })
const nested = (depth: number): object =>
  depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } }
const properties = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]))

/** d0 applies d1 twice, d1 applies d2 twice, and so on: eight million schemas for one value. */
const doubling = Object.fromEntries(Array.from({ length: 24 }, (_, index) => {
  const following = { $ref: `#/$defs/d${index + 1}` }
  return [`d${index}`, index === 23 ? { type: 'string' } : { anyOf: [following, following] }]
}))

const schema = (name: string, manifest: object, path: string, message: RegExp): MalformedManifest =>
  ({ name, manifest, stage: 'configSchema', code: 'ConfigSchemaInvalid', path, message })

const manifests: readonly MalformedManifest[] = [
  schema(
    'an unknown type', withInput({ properties: { a: { type: 'text' } } }), '/tools/0/inputSchema/properties/a/type',
    /it must be one of "array", "boolean"/,
  ),

  schema(
    'a remote reference', withInput({ properties: { a: { $ref: 'https://example.com/s.json' } } }),
    '/tools/0/inputSchema/properties/a/$ref', /only references inside/,
  ),
  schema(
    'a reference into a file', withInput({ properties: { a: { $ref: 'file:///etc/passwd' } } }),
    '/tools/0/inputSchema/properties/a/$ref', /only references inside/,
  ),
  schema(
    'a reference without a target', withInput({ properties: { a: { $ref: '#/$defs/a' } } }),
    '/tools/0/inputSchema/properties/a/$ref',
    /there is no schema/,
  ),
  schema(
    'a reference into data',
    withInput({ default: { x: { $async: true } }, properties: { a: { $ref: '#/default/x' } } }),
    '/tools/0/inputSchema/properties/a/$ref', /there is no schema/,
  ),

  schema(
    'another dialect', withInput({ $schema: 'http://json-schema.org/draft-04/schema#' }),
    '/tools/0/inputSchema/$schema',
    /2020-12/,
  ),
  schema(
    'a schema that is too deep', withInput({ properties: { a: nested(26) } }),
    `/tools/0/inputSchema/properties/a${'/properties/a'.repeat(23)}`, /nested more than 24/,
  ),
  schema(
    'a schema that is too wide', withInput({ properties: properties(1_001) }), '/tools/0/inputSchema',
    /1000 subschemas/,
  ),
  schema(
    'a schema that is too long', withInput({ description: 'x'.repeat(70_000) }), '/tools/0/inputSchema', /characters/,
  ),
  schema(
    'references that double', withInput({ $defs: doubling, properties: { a: { $ref: '#/$defs/d0' } } }),
    '/tools/0/inputSchema',
    /more than 2000 subschemas to one value/,
  ),
  schema(
    'a reference to itself in place', withInput({ allOf: [{ $ref: '#' }] }), '/tools/0/inputSchema', /without end/,
  ),

  schema(
    'an output schema', withTool({ outputSchema: { type: 'strin' } }), '/tools/0/outputSchema/type',
    /it must be one of "array", "boolean"/,
  ),
  schema(
    'a state schema', manifestOf({ stateSlot: { slotVersion: '1', schema: { required: 'a' } } }),
    '/stateSlot/schema/required',
    /must be array/,
  ),
  schema(
    'a config schema',
    manifestOf({ configSchema: { type: 'object', additionalProperties: false, properties: { a: { type: 'x' } } } }),
    '/configSchema/properties/a/type', /it must be one of "array", "boolean"/,
  ),
  schema(
    'properties that are a list',
    manifestOf({ configSchema: { type: 'object', additionalProperties: false, properties: [{}] } }),
    '/configSchema/properties', /object of properties/,
  ),
  schema(
    'too many schemas together',
    manifestOf({
      tools: [...'abcde'].map((name) => toolOf({ name, inputSchema: { type: 'object', properties: properties(900) } })),
    }),
    '/tools/4/inputSchema', /4000 subschemas together/,
  ),
]

test.each(manifests)('refuses $name', expectRefusal)

test('reports an unknown keyword, which has no effect', async () => {
  using home = new HomeFixture()
  const inputSchema = { type: 'object', properties: { a: { type: 'string', maxlength: 5, 'x-order': 1 } } }
  home.extension(home.globalRoot, 'weather', manifestOf({ tools: [toolOf({ inputSchema })] }))
  const { extensions, diagnostics } = await home.load()
  expect(extensions).toHaveLength(1)
  expect(diagnostics).toMatchObject([{
    severity: 'warning', stage: 'configSchema', code: 'ConfigSchemaInvalid',
    path: '/tools/0/inputSchema/properties/a/maxlength',
    message: expect.stringContaining('perhaps it is "maxLength"'),
  }])
})

test.each([
  ['invalid', '(', /Unterminated group/], ['with look-ahead', '^(?!x)', /linear time/],
  ['with an undefined escape', '\\A[a-z]+\\Z', /does not define the escape \\A/],
  ['too long', 'a'.repeat(1_025), /1024 characters/],
])('a pattern that is %s is reported, and does not cost the tool', async (_, pattern, message) => {
  using home = new HomeFixture()
  const written = { type: 'object', properties: { a: { type: 'string', pattern } } }
  const tool = toolOf({ inputSchema: { ...written, patternProperties: { [pattern]: true } }, outputSchema: written })
  home.extension(home.globalRoot, 'weather', manifestOf({ tools: [tool] }))
  const { extensions, diagnostics } = await home.load()
  expect(extensions).toHaveLength(1)
  const at = '/tools/0/inputSchema'
  expect(diagnostics).toMatchObject(
    [`${at}/patternProperties/${pattern}`, `${at}/properties/a/pattern`].map((path) => ({
      severity: 'warning', stage: 'configSchema', code: 'ConfigSchemaInvalid', path,
      message: expect.stringMatching(message),
    })),
  )
})

test('escaped punctuation in a pattern is no fault', async () => {
  using home = new HomeFixture()
  const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^\\-\\:\\@\\"\\#\\%\\ $' } } }
  home.extension(home.globalRoot, 'weather', manifestOf({ tools: [toolOf({ inputSchema })] }))
  expect((await home.load()).diagnostics).toEqual([])
})
