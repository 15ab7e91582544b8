import { defineTool, type FileReader } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { filesBelow, foldersOf, sizesOf } from '../model/files-below.ts'
import { leftOutWords } from '../model/left-out.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'
import { entryPoints } from './entry-points.ts'
import { languageOf, testFolderOf } from './languages.ts'

/** Files that are counted. */
const MOST_FILES = 10_000
/** The sizes of more files would take too long. */
const MOST_SIZES = 2_000
const MOST_FOLDERS = 200
const MOST_ROWS = 30

export const tool = defineTool({
  label: 'Overview of a repository',
  description: 'Describes a repository: its folders with the number of files in each, its languages, its entry '
    + 'points (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile, Dockerfile, README and others) and where '
    + 'its tests are. Ignored files are left out. Use it once, before you search.',
  input: {
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'The folder of the repository. Default: the workspace.' },
      depth: {
        type: 'integer', minimum: 1, maximum: 8,
        description: 'How many levels of folders the tree has. Default: 3.',
      },
    },
    required: [],
    additionalProperties: false,
  },
  requires: { fs: { read: ['{workspace}'] } },
  gated: true,
  mode: 'read',
  kind: 'read',
  idempotent: true,
  maxOutput: '64KB',
  execute({ path = '.', depth = 3 }, { fs, signal }) {
    refuseHome(path)
    return overview(fs, path, depth, signal)
  },
  deriveApprovalKey: ({ path }) => pathKey(path),
})

async function overview(fs: FileReader, path: string, depth: number, signal: AbortSignal): Promise<JsonObject> {
  const { paths, total, leftOut } = await filesBelow(fs, path, MOST_FILES)
  const counted = countBy(paths.flatMap(foldersOf).filter((folder) => depthOf(folder) <= depth))
  const byPath = [...counted].toSorted(([one], [other]) => one < other ? -1 : 1)
  const upper = new Set(byPath.toSorted(([one], [other]) => depthOf(one) - depthOf(other)).slice(0, MOST_FOLDERS))
  const folders = byPath.filter((folder) => upper.has(folder))
  const tests = countBy(paths.map(testFolderOf).filter((folder) => folder !== undefined))
  return {
    path,
    files: total,
    ...leftOutWords(leftOut),
    ...(total > paths.length && { counted: paths.length }),
    tree: folders.map(([folder, files]) => ({ path: folder, files })),
    ...(counted.size > MOST_FOLDERS && { folders: counted.size }),
    root_files: paths.filter((file) => !file.includes('/')).toSorted().slice(0, MOST_FOLDERS),
    languages: await languages(fs, path, paths, signal),
    entry_points: await entryPoints(fs, path, paths, signal),
    tests: mostFirst(tests).slice(0, MOST_ROWS).map(([folder, files]) => ({ path: folder, files })),
  }
}

const depthOf = (folder: string): number => folder.split('/').length

async function languages(
  fs: FileReader, folder: string, paths: readonly string[], signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const files = paths.flatMap((path) => {
    const language = languageOf(path)
    return language === undefined ? [] : [{ path, language }]
  })
  const bytes = new Map<string, number>()
  const isMeasured = files.length <= MOST_SIZES
  const measured = isMeasured ? files : []
  const sizes = await sizesOf(fs, measured.map(({ path }) => `${folder}/${path}`), signal)
  for (const [index, { language }] of measured.entries()) {
    bytes.set(language, (bytes.get(language) ?? 0) + (sizes[index] ?? 0))
  }
  return mostFirst(countBy(files.map(({ language }) => language))).slice(0, MOST_ROWS)
    .map(([language, count]) => ({ language, files: count, ...(isMeasured && { bytes: bytes.get(language)! }) }))
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const mostFirst = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].toSorted(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))

export const readArguments = pathReader(({ path }) => ({
  path: stringOr(path, '.'), verb: 'read the names and project files below', isFolder: true, reads: true,
  needs: ['fs.read'],
}))
