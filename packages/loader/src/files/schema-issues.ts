import type { manifestSchema } from '@bulkhead/contract/validation'
import { pointerStep } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'

/** What a schema of the contract reports, by the path and the words it gives. */
export type SchemaIssue = NonNullable<ReturnType<typeof manifestSchema.safeParse>['error']>['issues'][number]

export interface PlacedIssue {
  readonly steps: readonly (string | number)[]
  readonly message: string
}

export const pointerOf = (steps: readonly (string | number)[]): string => steps.map(pointerStep).join('')

/** One entry for each thing that is wrong with a value of the schema, at the member it is about rather than at the object around it. */
export function placeIssues(
  issues: readonly SchemaIssue[], schema: Described, above: readonly (string | number)[] = [],
): readonly PlacedIssue[] {
  return issues.flatMap((issue): readonly PlacedIssue[] => {
    const steps = [...above, ...issue.path.map((step) => typeof step === 'symbol' ? String(step) : step)]
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({ steps: [...steps, key], message: `is not a known key${meantKey(key, knownKeys(schema, steps))}` }))
      case 'invalid_key':
        return [{ steps, message: `is not a key that can stand here: ${issue.issues.map(({ message }) => message).join('; ')}` }]
      case 'invalid_format':
        return [{ steps, message: `must be ${issue.message}` }]
      case 'invalid_union':
        return placeUnion(issue.errors, schema, steps)
      default:
        return [{ steps, message: wrong(issue.message) }]
    }
  })
}

/** Without its question mark: what is wrong goes on as a sentence. */
const meantKey = (key: string, known: readonly string[]): string => meantNames(key, known).replace(/\?$/, '').replace(/^ Did you mean/, '; perhaps it is')

/** In the words of whoever wrote the file: a value that does not exist is missing, and that it is invalid has been said. */
function wrong(said: string): string {
  const told = said.replace(/^Invalid (?:input|option): /, '')
  return told.endsWith(ABSENT) ? `is missing: ${told.slice(0, -ABSENT.length)}` : `is wrong: ${told}`
}
const ABSENT = ', received undefined'

/** The branch that fits the kind of value is the one the author meant; where none does, each says what it expects. */
function placeUnion(
  branches: readonly (readonly SchemaIssue[])[], schema: Described, steps: readonly (string | number)[],
): readonly PlacedIssue[] {
  const isInside = ({ path, code }: SchemaIssue): boolean => path.length > 0 || code === 'unrecognized_keys'
  const meant = branches.find((issues) => issues.length > 0 && issues.every(isInside))
  if (meant !== undefined) return placeIssues(meant, schema, steps)
  const expectations = branches.flatMap((issues) => issues.map(({ message }) => message))
  // What tells the branches apart is none of theirs.
  const values = branches.length === 0 ? knownValues(schema, steps) : []
  if (values.length > 0) return [{ steps, message: `must be ${values.map((value) => `"${value}"`).join(' or ')}` }]
  return [{ steps, message: ['fits none of the allowed forms', ...expectations].join('; ') }]
}

/** As much of a schema of zod as is looked at here. */
export interface Described {
  readonly _zod: { readonly def: object }
}

/** What stands around a schema and changes nothing about its keys. */
const WRAPPERS: ReadonlySet<unknown> = new Set(['optional', 'nullable', 'default', 'prefault', 'nonoptional', 'readonly', 'catch'])

/** The keys that an object may have at this place of a value; none where the place is no object, or one with keys of any name. */
export function knownKeys(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => Object.keys(definition(place)['shape'] ?? {}))
}

/** The texts that may stand at this place of a value, where there are few. */
export function knownValues(schema: Described, path: readonly PropertyKey[]): readonly string[] {
  return placesAt([schema], path).flatMap((place) => (definition(place)['values'] ?? []) as readonly unknown[]).filter((value) => typeof value === 'string')
}

function placesAt(schemas: readonly Described[], path: readonly PropertyKey[]): readonly Described[] {
  const here = schemas.flatMap(branches)
  const [step, ...rest] = path
  return step === undefined ? here : placesAt(here.flatMap((schema) => childAt(schema, step) ?? []), rest)
}

function childAt(schema: Described, step: PropertyKey): Described | undefined {
  const { shape, element, valueType } = definition(schema)
  return (shape === undefined ? element ?? valueType : new Map<PropertyKey, unknown>(Object.entries(shape)).get(step)) as Described | undefined
}

function branches(schema: Described): readonly Described[] {
  const { type, options, innerType, in: taken } = definition(schema)
  if (type === 'union') return (options as readonly Described[]).flatMap(branches)
  if (type === 'pipe') return branches(taken as Described)
  return WRAPPERS.has(type) ? branches(innerType as Described) : [schema]
}

const definition = ({ _zod: { def } }: Described): Readonly<Record<string, unknown>> & { readonly shape?: object } => def as never
