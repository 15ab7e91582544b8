import type { manifestSchema } from '@bulkhead/contract'
import { pointerStep } from '@bulkhead/kit/json'
import { meantNames } from '@bulkhead/kit/text'
import { knownKeys, knownValues, type Described } from '../json/known-keys.ts'

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
