import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../../../..')

/** One block of code in a page. */
export interface Block {
  readonly page: string
  /** The line of its opening fence, from one. */
  readonly line: number
  readonly language: string
  /** The file name after the language, if any. */
  readonly file: string | undefined
  readonly text: string
}

/** All documentation pages. */
export const PAGES: readonly string[] = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'bench/README.md']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT })).toSorted()

export const BLOCKS: readonly Block[] = PAGES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```(\w*)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: language = '', 2: file, 3: code = '' }) => ({
      page, line: text.slice(0, index).split('\n').length, language, file, text: code,
    }),
  )
})

export const placeOf = ({ page, line }: Block): string => `${page}:${line}`
