import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { alternatives, propertiesOf, typesOf } from '@bulkhead/kit/schema'
import * as fc from 'fast-check'

/** valid and boundary satisfy the schema of the tool; invalid do not; hostile may or may not. */
export type ArgumentsKind = 'valid' | 'boundary' | 'invalid' | 'hostile'

export interface GeneratedArguments {
  readonly kind: ArgumentsKind
  readonly args: JsonObject
}

export interface Generation {
  readonly schema: JsonObject
  /** Whether a value satisfies the schema. */
  readonly accepts: (value: Json) => boolean
  readonly seed: number
  /** How many of each kind, at most. */
  readonly runs: number
}

/**
 * Arguments for a tool, generated from its schema. The same seed gives the same arguments. Whether arguments are valid
 * is decided by the validator alone: what the generator does not know of a schema costs coverage, not truth.
 */
export function generateArguments({ schema, accepts, seed, runs }: Generation): readonly GeneratedArguments[] {
  const sample = (arbitrary: fc.Arbitrary<Json>): readonly JsonObject[] =>
    fc.sample(arbitrary, { numRuns: runs, seed }).filter(isJsonObject)
  const valid = sample(arbitraryOf(schema, schema, 0)).filter(accepts)
  const [example] = valid
  const edges = boundaries(schema, schema, 0).filter(isJsonObject).filter(accepts).slice(0, runs)
  const broken = [...mutations(schema, example ?? {}), ...sample(anyObject)].filter((args) => !accepts(args))
  return distinct([
    ...valid.map((args) => ({ kind: 'valid' as const, args })),
    ...edges.map((args) => ({ kind: 'boundary' as const, args })),
    ...broken.slice(0, runs).map((args) => ({ kind: 'invalid' as const, args })),
    ...hostileArguments(schema, example ?? {}).map((args) => ({ kind: 'hostile' as const, args })),
  ])
}

function distinct(all: readonly GeneratedArguments[]): readonly GeneratedArguments[] {
  const seen = new Set<string>()
  return all.filter(({ args }) => {
    const text = JSON.stringify(args)
    return !seen.has(text) && seen.add(text)
  })
}

/** A schema that refers to itself is followed this deep. */
const MAX_DEPTH = 6
const anyValue: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
const anyObject: fc.Arbitrary<Json> = fc.dictionary(fc.string({ maxLength: 8 }), anyValue, { maxKeys: 4 }) as never

function arbitraryOf(schema: Json | undefined, root: JsonObject, depth: number): fc.Arbitrary<Json> {
  if (depth > MAX_DEPTH) return fc.constant(null)
  const inner = (part: Json | undefined): fc.Arbitrary<Json> => arbitraryOf(part, root, depth + 1)
  const options = alternatives(schema, root).flatMap((one) => {
    if ('const' in one) return fc.constant(one['const']!)
    if (Array.isArray(one['enum'])) return fc.constantFrom(...one['enum'] as Json[])
    const types = typesOf(one)
    return types.length === 0 ? anyValue : types.map((type) => ofType(type, one, inner))
  })
  return options.length === 0 ? anyValue : fc.oneof(...options)
}

function ofType(
  type: Json, schema: JsonObject, inner: (part: Json | undefined) => fc.Arbitrary<Json>,
): fc.Arbitrary<Json> {
  switch (type) {
    case 'string':
      return strings(schema)
    case 'integer':
    case 'number':
      return numbers(schema, type === 'integer')
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array': {
      const { minItems: minLength, maxItems: maxLength } = bounds(schema, 'Items', 5)
      const items = inner(schema['items'])
      return schema['uniqueItems'] === true
        ? fc.uniqueArray(items, { minLength, maxLength, selector: (item) => JSON.stringify(item) }) as never
        : fc.array(items, { minLength, maxLength }) as never
    }
    default: {
      const model = Object.fromEntries(Object.entries(propertiesOf(schema)).map(([name, part]) => [name, inner(part)]))
      return fc.record(model, { requiredKeys: requiredOf(schema).filter((name) => name in model) }) as never
    }
  }
}

function strings(schema: JsonObject): fc.Arbitrary<Json> {
  const { pattern, format } = schema
  const { minLength, maxLength } = bounds(schema, 'Length', 24)
  if (typeof pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(pattern, 'u'))
    } catch {
      // The validator drops the ones that do not match.
    }
  }
  if (format === 'uri' || format === 'url') return fc.webUrl()
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  if (format === 'email') return fc.emailAddress()
  if (format === 'uuid') return fc.uuid()
  return fc.oneof(
    fc.string({ minLength, maxLength }), fc.string({ minLength, maxLength, unit: 'grapheme' }),
    fc.constantFrom(...PLAUSIBLE).filter(({ length }) => length >= minLength && length <= maxLength),
  )
}

/** Strings that many tools expect: a path, a URL, a word, a question. */
const PLAUSIBLE = ['README.md', 'https://example.com/', 'Lisbon', 'What time is it?', '2026-01-31', '.'] as const

function numbers(schema: JsonObject, isInteger: boolean): fc.Arbitrary<Json> {
  const { min, max } = numberBounds(schema)
  const step = schema['multipleOf']
  if (typeof step === 'number') {
    return fc.integer({ min: Math.ceil(min / step), max: Math.floor(max / step) }).map((times) => times * step)
  }
  return isInteger ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
    : fc.double({ min, max, noNaN: true, noDefaultInfinity: true })
}

function numberBounds(schema: JsonObject): { readonly min: number; readonly max: number } {
  const at = (key: string): number | undefined => typeof schema[key] === 'number' ? schema[key] : undefined
  const min = at('minimum') ?? (at('exclusiveMinimum') ?? -1_001) + 1
  const max = at('maximum') ?? (at('exclusiveMaximum') ?? Math.max(min, 1_000) + 1) - 1
  return { min, max: Math.max(min, max) }
}

type Bounds<Of extends string> = { readonly [Key in `min${Of}` | `max${Of}`]: number }

/** `spare`: how much longer than its minimum a value without a maximum gets. */
function bounds<Of extends string>(schema: JsonObject, of: Of, spare: number): Bounds<Of> {
  const [low, high] = [schema[`min${of}`], schema[`max${of}`]]
  const min = typeof low === 'number' ? low : 0
  const max = Math.max(min, Math.min(typeof high === 'number' ? high : Infinity, min + spare))
  return { [`min${of}`]: min, [`max${of}`]: max } as Bounds<Of>
}

const requiredOf = ({ required }: JsonObject): readonly string[] =>
  Array.isArray(required) ? (required as readonly Json[]).filter((name) => typeof name === 'string') : []

/** Values at the limits of a schema: shortest and longest, least and most, all or no optional members. */
function boundaries(schema: Json | undefined, root: JsonObject, depth: number): readonly Json[] {
  if (depth > MAX_DEPTH) return [null]
  return alternatives(schema, root).flatMap((one) => {
    if ('const' in one) return [one['const']!]
    if (Array.isArray(one['enum'])) return one['enum'] as readonly Json[]
    return typesOf(one).flatMap((type) => boundariesOfType(type, one, root, depth))
  })
}

/** The longest string and list that a limit without a maximum is tried with. */
const LONG = { chars: 4_096, items: 100 }

function boundariesOfType(type: Json, schema: JsonObject, root: JsonObject, depth: number): readonly Json[] {
  switch (type) {
    case 'string': {
      const { minLength, maxLength } = bounds(schema, 'Length', LONG.chars)
      return ['x'.repeat(minLength), 'x'.repeat(maxLength), '\u{1F600}'.repeat(minLength), ...PLAUSIBLE]
    }
    case 'integer':
    case 'number': {
      const { min, max } = numberBounds(schema)
      return [min, max, 0, Number.MAX_SAFE_INTEGER, -1]
    }
    case 'boolean':
      return [true, false]
    case 'null':
      return [null]
    case 'array': {
      const { minItems, maxItems } = bounds(schema, 'Items', LONG.items)
      const [item = null] = boundaries(schema['items'], root, depth + 1)
      return [minItems, maxItems].map((length) => Array.from({ length }, () => item))
    }
    default:
      return objectBoundaries(schema, root, depth)
  }
}

function objectBoundaries(schema: JsonObject, root: JsonObject, depth: number): readonly Json[] {
  const values = new Map(Object.entries(propertiesOf(schema)).map(([name, part]) => [name, boundaries(part, root, depth + 1)]))
  const required = new Set(requiredOf(schema))
  const first = (names: Iterable<string>): JsonObject =>
    Object.fromEntries([...names].flatMap((name) => values.has(name) ? [[name, values.get(name)![0] ?? null]] : []))
  const all = first(values.keys())
  return [
    first(required), all,
    ...[...values].flatMap(([name, edges]) => edges.map((edge) => ({ ...all, [name]: edge }))),
  ]
}

/** Valid arguments with one thing wrong: a member that is missing, unknown, or of another type. */
function mutations(schema: JsonObject, valid: JsonObject): readonly JsonObject[] {
  const names = Object.keys(propertiesOf(schema))
  const wrong: readonly Json[] = [null, '', 0, -1, true, [], {}, ['x'], { x: 1 }]
  return [
    {},
    ...requiredOf(schema).map((missing) =>
      Object.fromEntries(Object.entries(valid).filter(([name]) => name !== missing))),
    { ...valid, unknownMember: 1 },
    ...names.flatMap((name) => wrong.map((value) => ({ ...valid, [name]: value }))),
  ]
}

const MEGABYTE = 1024 * 1024

/** Strings and values that break careless code. A model may send any of them. */
const HOSTILE: readonly Json[] = [
  '../../../../etc/passwd', 'file:///etc/passwd', '$(id)', '\u001B[2J', '\uD800', '\u202Egnp.exe', '__proto__',
  '%00', '{{7*7}}', '\'; DROP TABLE x; --', 'x'.repeat(MEGABYTE / 2), Number.MAX_VALUE, -0, 1e-320,
]

function hostileArguments(schema: JsonObject, valid: JsonObject): readonly JsonObject[] {
  const names = Object.keys(propertiesOf(schema))
  return [
    JSON.parse('{ "__proto__": { "polluted": 1 }, "constructor": { "prototype": { "polluted": 1 } } }') as JsonObject,
    { ...valid, toString: null, hasOwnProperty: 0, length: -1 },
    { ...valid, list: Array.from({ length: 10_000 }, (_, index) => index) },
    { ...valid, deep: nested(28) },
    ...names.flatMap((name) => HOSTILE.map((value) => ({ ...valid, [name]: value }))),
  ]
}

function nested(depth: number): JsonObject {
  return depth === 0 ? { end: true } : { next: nested(depth - 1) }
}
