import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'

export interface SourceFile {
  /** From the root of the workspace, with `/`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
}

const IMPORT = new RegExp([
  /(?:^|[\s;}])(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/, /\bimport\s*\(\s*['"]([^'"]+)['"]/,
  /(?:^|[\s;}])import\s*['"]([^'"]+)['"]/,
].map(({ source }) => source).join('|'), 'gm')
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'reports', '.turbo'])

/** The tests of one folder of `src`, in that folder. */
const TESTS_IN_SOURCE = /\/src\/[^/]+\/test\//

/** All source files below a folder, with their imports. A missing folder has none. */
export function sourceFiles(root: string, folder: string): readonly SourceFile[] {
  return walk(join(root, folder))
    .filter((path) => /\.(?:tsx?|mts|js|mjs)$/.test(path) && !TESTS_IN_SOURCE.test(path))
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      return { path: relative(root, path).split(sep).join('/'), text, imports: importsOf(text) }
    })
}

export function importsOf(text: string): readonly string[] {
  return [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3]!)
}

export function walk(folder: string): readonly string[] {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
  return entries.flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? walk(path) : [path]
  })
}
