import type { Json, JsonObject } from '@bulkhead/kit/json'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc, { type Arbitrary } from 'fast-check'
import { toStrictJsonSchema } from 'openai/lib/transform'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { bundledExtensions } from '../../../tools-bundled/src/index.ts'
import { withoutAddedNulls } from '../../src/models/added-nulls.ts'
import { DEEPSEEK, OPENAI } from '../../src/models/profiles.ts'
import { project } from '../../src/models/project.ts'
import { strictFaults } from './strict-rules.ts'

const RUNS = thoroughly(5, 1000)
const BUNDLED = bundledExtensions.flatMap(({ manifest }) => manifest.tools)
  .map(({ name, inputSchema }) => [name, inputSchema as unknown as JsonObject] as const)

/** OpenAI's own transformer accepts the schema and has nothing to change. */
function expectStrict(schema: JsonObject): void {
  expect(strictFaults(schema)).toEqual([])
  expect(toStrictJsonSchema(structuredClone(schema))).toEqual(schema)
}

/** Arguments with members of any name. */
const OPEN = new Map([['task', 'metadata'], ['http_request', 'headers']])

describe('a bundled tool', () => {
  it.each(BUNDLED)('%s has a strict schema by the rules of OpenAI, or a reason', (name, inputSchema) => {
    const { schema, strict, reason } = project(inputSchema, OPENAI)
    if (strict) expectStrict(schema as JsonObject)
    expect(reason).toBe(OPEN.has(name) ? `"/properties/${OPEN.get(name)}" accepts members of any name` : undefined)
  })
})

/** A schema, a value that it accepts, and the same value as a strict model sends it. */
interface Case {
  readonly schema: JsonObject
  readonly value: Json
  readonly sent: Json
  /** Whether null is valid, so that it cannot stand for an absent value. */
  readonly nullable?: boolean
}

const plain = (schema: JsonObject, value: Json): Case => ({ schema, value, sent: value })
const leaf: Arbitrary<Case> = fc.constantFrom(
  plain({ type: 'string', minLength: 1 }, 'x'), plain({ type: 'string', pattern: '^a', description: 'A.' }, 'a'),
  plain({ type: 'string', format: 'date' }, '2026-01-01'), plain({ type: 'integer', minimum: 1, default: 2 }, 1),
  plain({ type: 'boolean' }, true), plain({ enum: ['a', 2] }, 2), plain({ const: 'c' }, 'c'),
  plain({ $ref: '#/$defs/a%25b~1c' }, 'x'), plain({ $ref: '#/$defs/tree', title: 'T' }, { below: [{ below: [] }] }),
  { ...plain({ type: ['integer', 'null'] }, null), nullable: true },
  { ...plain({ oneOf: [{ type: 'string' }, { type: 'null' }] }, 'x'), nullable: true },
)
const DEFINITIONS: JsonObject = {
  'a%b/c': { type: 'string' },
  tree: {
    type: 'object', properties: { below: { type: 'array', items: { $ref: '#/$defs/tree' } } }, required: ['below'],
    additionalProperties: false,
  },
}
const name = fc.constantFrom('a', 'b', 'c/d', 'constructor', 'é')

const { node, object } = fc.letrec<{ node: Case; object: Case }>((tie) => ({
  node: fc.oneof({ maxDepth: 4, depthIdentifier: 'n' }, leaf, tie('object'), list(tie('node')), union(tie('object'))),
  object: fc.uniqueArray(
    fc.tuple(name, tie('node'), fc.boolean(), fc.boolean()), { maxLength: 4, selector: ([key]) => key },
  ).map(objectOf),
}))

function list(item: Arbitrary<Case>): Arbitrary<Case> {
  return fc.tuple(item, fc.nat(2)).map(([{ schema, value, sent }, count]) => ({
    schema: { type: 'array', items: schema, uniqueItems: false },
    value: new Array(count).fill(value), sent: new Array(count).fill(sent),
  }))
}

function objectOf(members: readonly (readonly [string, Case, boolean, boolean])[]): Case {
  const isGiven = ([, one, isRequired, isPresent]: (typeof members)[number]): boolean =>
    isRequired || isPresent || one.nullable === true
  return {
    schema: {
      type: 'object', additionalProperties: false,
      properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])),
      required: members.filter(([, , isRequired]) => isRequired).map(([key]) => key),
    },
    value: Object.fromEntries(members.filter(isGiven).map(([key, { value }]) => [key, value])),
    sent: Object.fromEntries(members.map((member) => [member[0], isGiven(member) ? member[1].sent : null])),
  }
}

/** Alternatives with a fixed value that tells them apart. */
function union(part: Arbitrary<Case>): Arbitrary<Case> {
  const tagged = ({ schema, value, sent }: Case, kind: string): Case => ({
    schema: {
      ...schema, properties: { kind: { const: kind }, ...schema['properties'] as JsonObject },
      required: ['kind', ...schema['required'] as readonly string[]],
    },
    value: { kind, ...value as JsonObject }, sent: { kind, ...sent as JsonObject },
  })
  return fc.tuple(part, part, fc.boolean()).map(([one, other, isSecond]) => {
    const parts = [tagged(one, 'one'), tagged(other, 'other')] as const
    const { value, sent } = parts[isSecond ? 1 : 0]
    return { schema: { [isSecond ? 'anyOf' : 'oneOf']: parts.map(({ schema }) => schema) }, value, sent }
  })
}

describe('a generated schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true })
  const accepts = (schema: object, value: Json): boolean => ajv.compile(schema)(value)
  const whole = object.map(({ schema, ...rest }) => ({
    ...rest, schema: { ...schema, $defs: DEFINITIONS } as JsonObject,
  }))

  it('is strict by the rules, accepts what a strict model sends, and gets back the original', () => {
    fc.assert(fc.property(whole, ({ schema, value, sent }) => {
      const projection = project(schema, OPENAI)
      expect(projection.reason ?? 'strict').toMatch(/^strict$|levels; 10 are allowed/)
      if (!projection.strict) return
      expectStrict(projection.schema as JsonObject)
      expect(accepts(projection.schema, sent), JSON.stringify({ schema, sent })).toBe(true)
      expect(withoutAddedNulls(sent, schema)).toEqual(value)
    }), { numRuns: RUNS })
  })

  it('is never changed, and a copy shares nothing with it', () => {
    fc.assert(fc.property(node, fc.constantFrom(OPENAI, DEEPSEEK), ({ schema }, profile) => {
      const full = { type: 'object', properties: { x: schema }, $defs: DEFINITIONS } as JsonObject
      const before = JSON.stringify(full)
      const ours = objectsIn(full)
      expect([...objectsIn(project(full, profile).schema as JsonObject)].filter((one) => ours.has(one))).toEqual([])
      expect(JSON.stringify(full)).toBe(before)
    }), { numRuns: RUNS })
  })
})

function objectsIn(value: Json): ReadonlySet<object> {
  if (typeof value !== 'object' || value === null) return new Set()
  return new Set([value, ...Object.values(value).flatMap((one: Json) => [...objectsIn(one)])])
}
