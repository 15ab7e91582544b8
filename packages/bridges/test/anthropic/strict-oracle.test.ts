import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { bundledExtensions } from '../../../tools-bundled/src/index.ts'
import { ANTHROPIC } from '../../src/models/profiles.ts'
import { project } from '../../src/models/project.ts'

/** The SDK leaves out the type beside a fixed value. */
function withoutTypeOfLiterals(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((one: Json) => withoutTypeOfLiterals(one))
  if (!isJsonObject(schema)) return schema
  const { type: _, ...rest } = schema
  const kept = 'enum' in schema || 'const' in schema ? rest : schema
  return Object.fromEntries(Object.entries(kept).map(([key, value]) => [key, withoutTypeOfLiterals(value)]))
}

/** Anthropic's own transformer accepts the schema and has nothing to change. */
function expectStrict(full: JsonObject): void {
  const { schema, strict, reason } = project(full, ANTHROPIC)
  expect(reason).toBeUndefined()
  expect(strict).toBe(true)
  expect(transformJSONSchema(schema)).toEqual(withoutTypeOfLiterals(schema as Json))
}

it.each<[string, JsonObject]>([
  [
    'nested objects',
    {
      properties: {
        who: { type: 'object', properties: { name: { type: 'string', minLength: 1 } }, additionalProperties: false },
      },
    },
  ],
  [
    'lists',
    {
      properties: {
        list: { type: 'array', minItems: 2, items: { enum: ['a', 'b', null] } },
        few: { type: 'array', minItems: 1, items: { type: 'number', maximum: 3 } },
      },
    },
  ],
  [
    'alternatives',
    {
      properties: {
        one: {
          oneOf: [
            { type: 'string', format: 'uri' }, { type: 'integer', multipleOf: 2 },
          ],
        },
        many: { type: ['string', 'null'], pattern: '^a' },
      },
    },
  ],
  [
    'definitions',
    { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string', format: 'color', const: 'red' } } },
  ],
])('a strict schema is one that the SDK would not change: %s', (_, schema) => {
  expectStrict({ type: 'object', additionalProperties: false, ...schema })
})

it.each(
  bundledExtensions
    .flatMap(({ manifest }) => manifest.tools)
    .filter(({ name }) => name !== 'task' && name !== 'http_request')
    .map((tool) => [tool.name, tool] as const),
)('the bundled tool %s has a strict schema', (_, { inputSchema }) => expectStrict(inputSchema as unknown as JsonObject))
