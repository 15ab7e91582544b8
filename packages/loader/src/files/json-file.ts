import { isUtf8 } from 'node:buffer'
import type { manifestSchema } from '@bulkhead/contract/validation'
import { JSON_LIMITS, parseJson, pointerStep, type Json } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'

export type StrictJson =
  | { readonly ok: true; readonly value: Json }
  /** The message continues a sentence that starts with the name of the file. */
  | { readonly ok: false; readonly duplicateKey: boolean; readonly path: string; readonly message: string }

/**
 * Parses JSON that all readers understand alike: UTF-8 without a BOM, no duplicate keys, within the limits. Contract:
 * never throws.
 */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  if (!isUtf8(bytes)) return fault('', 'is not UTF-8')
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  if (text.startsWith('\u{feff}')) return fault('', 'begins with a byte order mark')
  const parsed = parseJson(text, JSON_LIMITS)
  if (!parsed.ok) {
    const { path, message } = parsed.fault
    return fault(path, path === '' ? message : `has a value that ${message}`)
  }
  const duplicate = findDuplicateKey(text)
  if (duplicate !== undefined) return { ok: false, duplicateKey: true, path: duplicate, message: 'has a duplicate key' }
  return { ok: true, value: parsed.value }
}

const fault = (path: string, message: string): StrictJson => ({ ok: false, duplicateKey: false, path, message })

/** An object or array that encloses the current position. */
interface Frame {
  /** Keys seen so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  awaitsKey: boolean
  step: string | number
}

/**
 * JSON Pointer of the first duplicate key, or undefined. `JSON.parse` silently keeps the last one, so two readers could
 * disagree about a manifest. The text must be valid JSON.
 */
export function findDuplicateKey(text: string): string | undefined {
  const open: Frame[] = []
  for (let index = 0; index < text.length; index++) {
    const frame = open.at(-1)
    switch (text[index]) {
      case '{':
        open.push({ keys: new Set(), awaitsKey: true, step: '' })
        break
      case '[':
        open.push({ keys: undefined, awaitsKey: false, step: 0 })
        break
      case '}':
      case ']':
        open.pop()
        break
      case ',':
        if (frame?.keys) frame.awaitsKey = true
        else if (frame) frame.step = Number(frame.step) + 1
        break
      case '"': {
        const end = endOfString(text, index)
        if (frame?.keys && frame.awaitsKey) {
          // Parsed, because "a" and "\u0061" are the same key.
          frame.step = JSON.parse(text.slice(index, end)) as string
          if (frame.keys.has(frame.step)) return open.map(({ step }) => pointerStep(step)).join('')
          frame.keys.add(frame.step)
          frame.awaitsKey = false
        }
        index = end - 1
        break
      }
    }
  }
  return undefined
}

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}

export type SchemaIssue = NonNullable<ReturnType<typeof manifestSchema.safeParse>['error']>['issues'][number]

export interface PlacedIssue {
  readonly steps: readonly (string | number)[]
  readonly message: string
}

export const pointerOf = (steps: readonly (string | number)[]): string => steps.map(pointerStep).join('')

/** One entry per problem, at the member at fault and not at the object around it. */
export function placeIssues(
  issues: readonly SchemaIssue[], schema: Described, above: readonly (string | number)[] = [],
): readonly PlacedIssue[] {
  return issues.flatMap((issue): readonly PlacedIssue[] => {
    const steps = [...above, ...issue.path.map((step) => typeof step === 'symbol' ? String(step) : step)]
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({
          steps: [...steps, key], message: `is not a known key${meantKey(key, knownKeys(schema, steps))}`,
        }))
      case 'invalid_key':
        return [{ steps, message: `is not a valid key: ${issue.issues.map(({ message }) => message).join('; ')}` }]
      case 'invalid_format':
        return [{ steps, message: `must be ${issue.message}` }]
      case 'invalid_union':
        return placeUnion(issue.errors, schema, steps)
      default:
        return [{ steps, message: wrong(issue.message) }]
    }
  })
}

/** The suggestion as part of a sentence. Empty for a key of another form of the object, which is not a typing error. */
const meantKey = (key: string, known: readonly string[]): string =>
  known.includes(key) ? '' : meantNames(key, known).replace(/\?$/, '').replace(/^ Did you mean/, '; perhaps it is')

/** Rewrites a message of zod for the author of the file. */
function wrong(message: string): string {
  const text = message.replace(/^Invalid (?:input|option): /, '')
  return text.endsWith(ABSENT) ? `is missing: ${text.slice(0, -ABSENT.length)}` : `is wrong: ${text}`
}
const ABSENT = ', received undefined'

/** Reports the branch that matches the kind of the value. If none does, lists what each branch expects. */
function placeUnion(
  branches: readonly (readonly SchemaIssue[])[], schema: Described, steps: readonly (string | number)[],
): readonly PlacedIssue[] {
  const isInside = ({ path, code }: SchemaIssue): boolean => path.length > 0 || code === 'unrecognized_keys'
  const matching = branches.find((issues) => issues.length > 0 && issues.every(isInside))
  if (matching !== undefined) return placeIssues(matching, schema, steps)
  const expectations = branches.flatMap((issues) => issues.map(({ message }) => message))
  // The discriminator matches no branch.
  const values = branches.length === 0 ? knownValues(schema, steps) : []
  if (values.length > 0) return [{ steps, message: `must be ${values.map((value) => `"${value}"`).join(' or ')}` }]
  return [{ steps, message: ['matches none of the allowed forms', ...expectations].join('; ') }]
}

/** The part of a zod schema that is used here. */
export interface Described {
  readonly _zod: { readonly def: object }
}

/** Wrappers that do not change the keys of a schema. */
const WRAPPERS: ReadonlySet<unknown> = new Set([
  'optional', 'nullable', 'default', 'prefault', 'nonoptional', 'readonly', 'catch',
])

/** The keys of the object at this path; empty if it is not an object, or has arbitrary keys. */
function knownKeys(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => Object.keys(definition(place)['shape'] ?? {}))
}

/** The allowed strings at this path, if they are listed. */
function knownValues(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => (definition(place)['values'] ?? []) as readonly unknown[])
    .filter((value) => typeof value === 'string')
}

function placesAt(schemas: readonly Described[], path: readonly PropertyKey[]): readonly Described[] {
  const here = schemas.flatMap(unwrap)
  const [step, ...rest] = path
  return step === undefined ? here : placesAt(here.flatMap((schema) => childAt(schema, step) ?? []), rest)
}

function childAt(schema: Described, step: PropertyKey): Described | undefined {
  const { shape, element, valueType } = definition(schema)
  const child = shape === undefined
    ? element ?? valueType : new Map<PropertyKey, unknown>(Object.entries(shape)).get(step)
  return child as Described | undefined
}

function unwrap(schema: Described): readonly Described[] {
  const { type, options, innerType, in: taken } = definition(schema)
  if (type === 'union') return (options as readonly Described[]).flatMap(unwrap)
  if (type === 'pipe') return unwrap(taken as Described)
  return WRAPPERS.has(type) ? unwrap(innerType as Described) : [schema]
}

const definition = ({ _zod: { def } }: Described): Readonly<Record<string, unknown>> & { readonly shape?: object } =>
  def as never
