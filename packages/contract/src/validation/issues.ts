import { pointerStep } from '@bulkhead/kit/json'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import type { z } from 'zod'

type SchemaIssue = z.core.$ZodIssue

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

/**
 * One problem as a sentence: a misspelled key first, because it explains a missing one. `whole`: what the value is
 * called. `place`: a JSON Pointer to it.
 */
export function firstFault(
  issues: readonly SchemaIssue[], schema: Described, whole: string, place = '',
): { readonly path: string; readonly message: string } {
  const first = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  const [{ steps, message } = { steps: [], message: 'is wrong' }] = placeIssues([first], schema)
  const path = `${place}${pointerOf(steps)}`
  return { path, message: `${visibleText(path) || whole} ${message}.` }
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
interface Described {
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
