export type SpecificationName = 'stud' | 'grida' | 'morphix' | 'steerable' | 'phi'

/** A test of this repository, by the path of its file and its title as the file has it. */
export interface NamedTest {
  readonly file: string
  readonly title: string
}

/** Why a requirement is not followed, and where users read it. */
export interface Departure {
  readonly reason: string
  /** The number of a decision in `docs/decisions`, or in its archive. */
  readonly decision: number
  /** A page for users, such as `docs/guides/dialects.md`. */
  readonly page: string
}

/** One requirement of a specification. */
export interface SpecifiedRequirement {
  readonly id: string
  readonly section: string
  readonly text: string
  readonly status: 'holds' | 'differs'
  /** The test that fails if it does not hold any more. Of a departure: a test of what is done instead,
    if one is named. */
  readonly test?: NamedTest
  readonly departure?: Departure
}

export interface Specification {
  readonly name: SpecificationName
  readonly requirements: readonly SpecifiedRequirement[]
}

type Row = Omit<SpecifiedRequirement, 'section'>

export const section = (title: string, rows: readonly Row[]): readonly SpecifiedRequirement[] =>
  rows.map(({ id, ...row }) => ({ id, section: title, ...row }))

/** `file` is short: `host/calls/execute` is `packages/host/test/calls/execute.test.ts`, unless it has the folder `test`. */
const testOf = (file: string, title: string): NamedTest =>
  ({ file: `packages/${file.includes('/test/') ? file : file.replace('/', '/test/')}.test.ts`, title })

export const holds = (id: string, text: string, file: string, title: string): Row =>
  ({ id, text, status: 'holds', test: testOf(file, title) })

/** `page` is short: `guides/dialects` is `docs/guides/dialects.md`. */
export const differs = (
  id: string, text: string, reason: string, decision: number, page: string, file?: string, title?: string,
): Row => ({
  id, text, status: 'differs',
  ...(file !== undefined && title !== undefined && { test: testOf(file, title) }),
  departure: { reason, decision, page: `docs/${page}.md` },
})
