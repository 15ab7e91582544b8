import { createHash } from 'node:crypto'
import * as fc from 'fast-check'

/** Two secrets of the same length, with the same kind of character at every position. */
export interface Secrets {
  readonly one: string
  readonly other: string
}

/** A part of a body, an argument or a path. */
export type Part =
  | { readonly kind: 'filler'; readonly text: string }
  /** What a tool can guess: never the whole secret. */
  | { readonly kind: 'guess'; readonly of: keyof Secrets; readonly from: number; readonly length: number }
  /** The value that the server or command received for the handle. */
  | { readonly kind: 'echo' }

export type ResolvedPath = 'own' | 'foreign'

export type Step =
  | {
      readonly do: 'fetch'
      readonly from: ResolvedPath
      readonly withHandle: boolean
      readonly query: readonly Part[]
      readonly header: readonly Part[]
      readonly chunks: readonly (readonly Part[])[]
      readonly breaksOff: boolean
      readonly redirect: { readonly to: ResolvedPath | 'nowhere'; readonly location: readonly Part[] } | undefined
    }
  | {
      readonly do: 'run'
      readonly command: ResolvedPath
      readonly withHandle: boolean
      readonly argument: readonly Part[]
    }
  | {
      readonly do: 'pipe'
      readonly first: ResolvedPath
      readonly withHandle: boolean
      readonly argument: readonly Part[]
    }
  | { readonly do: 'file'; readonly method: 'fs.read' | 'fs.stat' | 'fs.list' | 'fs.glob'; readonly path: string }

export interface Program {
  readonly secrets: Secrets
  readonly steps: readonly Step[]
}

const CLASSES: Readonly<Record<string, string>> = {
  lower: 'abcdefghijklmnopqrstuvwxyz', upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', digit: '0123456789', sign: '/', space: ' ',
  quote: '"', umlaut: 'ü',
}

/** Drawn by a hash: fast-check prefers repeated letters, and a secret of one letter has a different form. */
function secretOf(form: readonly string[], seed: number, which: string): string {
  return form.map((name, index) => {
    const letters = CLASSES[name]!
    return letters[createHash('sha256').update(`${seed} ${which} ${index}`).digest().readUInt32BE() % letters.length]!
  }).join('')
}

const common = fc.constantFrom('lower', 'upper', 'digit')
const form = fc.tuple(
  fc.array(common, { minLength: 10, maxLength: 20 }),
  fc.array(fc.constantFrom(...Object.keys(CLASSES)), { maxLength: 6 }),
  fc.array(common, { minLength: 4, maxLength: 6 }),
)
  .map((parts) => parts.flat())

const secrets: fc.Arbitrary<Secrets> = fc.tuple(form, fc.nat()).map(([letters, seed]) =>
  ({ one: secretOf(letters, seed, 'one'), other: secretOf(letters, seed, 'other') }))

const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: fc.record({
    kind: fc.constant('guess'), of: fc.constantFrom('one', 'other'), from: fc.constant(0),
    length: fc.integer({ min: 1, max: 14 }),
  }) },
  { weight: 1, arbitrary: fc.record({
    kind: fc.constant('guess'), of: fc.constantFrom('one', 'other'), from: fc.integer({ min: 1, max: 8 }),
    length: fc.integer({ min: 1, max: 13 }),
  }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'echo' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'filler', text: '\n' } as const) },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 })
    .map((text) => ({ kind: 'filler', text: text.replaceAll('\0', '') } as const)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3_000 })
    .map((length) => ({ kind: 'filler', text: '-'.repeat(length) } as const)) },
)
const parts = (maxLength: number): fc.Arbitrary<readonly Part[]> => fc.array(part, { maxLength })
const place = fc.constantFrom<ResolvedPath>('own', 'foreign')

const redirect = fc.option(
  fc.record({ to: fc.constantFrom<ResolvedPath | 'nowhere'>('own', 'foreign', 'nowhere'), location: parts(3) }),
  { nil: undefined, freq: 5 },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('fetch'), from: place, withHandle: fc.boolean(), query: parts(2), header: parts(2),
      chunks: fc.array(parts(3), { maxLength: 8 }), breaksOff: fc.boolean(), redirect,
    }),
  },
  { weight: 1, arbitrary: fc.record(
    { do: fc.constant('run'), command: place, withHandle: fc.boolean(), argument: parts(4) },
  ) },
  { weight: 1, arbitrary: fc.record(
    { do: fc.constant('pipe'), first: place, withHandle: fc.boolean(), argument: parts(4) },
  ) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('file'), method: fc.constantFrom('fs.read', 'fs.stat', 'fs.list', 'fs.glob'),
      path: fc.constantFrom(
        'open.txt', 'closed/key.txt', 'closed/', 'closed/*', '../beside/key.txt', 'closed/key.txt/x', '**',
      ),
    }),
  },
)

/** Joins parts. `echoed` replaces the parts that echo the value. */
export const textOf = (given: readonly Part[], { one, other }: Secrets, echoed: string): string =>
  given.map((one_) => {
    if (one_.kind === 'filler') return one_.text
    if (one_.kind === 'echo') return echoed
    return (one_.of === 'one' ? one : other).slice(one_.from, one_.from + one_.length)
  }).join('')

/** Whether guesses form a whole secret. A tool that knows the secret may see that it is right. */
function guessesWhole({ secrets: both, steps }: Program): boolean {
  const guesses = steps.flatMap((one): readonly (readonly Part[])[] => {
    if (one.do === 'fetch') return [one.query, one.header, one.chunks.flat(), one.redirect?.location ?? []]
    return one.do === 'file' ? [] : [one.argument]
  }).map((given) => textOf(given, both, '\0').toLowerCase())
  return guesses.some((text) => text.includes(both.one.toLowerCase()) || text.includes(both.other.toLowerCase()))
}

export const programs: fc.Arbitrary<Program> = fc.record(
  { secrets, steps: fc.array(step, { minLength: 1, maxLength: 5 }) },
)
  .filter((program) => !guessesWhole(program))
