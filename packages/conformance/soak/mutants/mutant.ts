import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A limit or a promise, taken out of the source by one change. A test must fail then. */
export interface Mutant {
  /** The name of the limit as its reference has it, or the promise as a sentence. */
  readonly what: string
  readonly file: string
  /** Stands once in the file. */
  readonly from: string
  readonly to: string
  /** The test file of the same or another package that must fail. */
  readonly test: string
  /** Set if the test runs in `pnpm soak` only. */
  readonly inSoak?: true
}

/** The source with the change, and the line where it stands. Throws if the text does not stand there once. */
export function applied({ file, from, to }: Mutant, root: string): { readonly text: string; readonly line: number } {
  const source = readFileSync(join(root, file), 'utf8')
  const [before, after, ...more] = source.split(from)
  if (after === undefined || more.length > 0) {
    throw new Error(`"${from}" stands ${after === undefined ? 'not' : 'more than once'} in ${file}. Change the mutant.`)
  }
  return { text: `${before}${to}${after}`, line: before!.split('\n').length }
}
