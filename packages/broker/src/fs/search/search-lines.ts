import type { LinesFound, WholeOutput } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import { notRegular } from '../file-errors.ts'
import type { ResolvedPath } from '../path-policy.ts'
import { joinNames, shownPath } from '../paths.ts'
import { READ } from '../disk.ts'
import { compileFilePattern, narrowingArguments } from './file-pattern.ts'
import { CountResults, LineResults } from './results.ts'
import { eachPath } from './find-files.ts'
import { runRipgrep } from './ripgrep.ts'
import type { SearchRequest } from './request.ts'

/** A search with what takes everything that it finds. */
export type SavedSearch = SearchRequest & { readonly whole: WholeOutput | undefined }

type Collector = CountResults | LineResults

/** Nothing more is read while what was found is saved. */
const takeInto = (lines: Collector, search: SavedSearch) => (bytes: Buffer): boolean | Promise<boolean> => {
  const more = lines.add(bytes)
  const saved = save(lines, search)
  return saved === undefined ? more : saved.then(() => more)
}

function save({ text }: Collector, { whole }: SavedSearch): Promise<void> | undefined {
  if (text.isCut) whole?.leaveOut()
  return whole?.add('lines', text.taken())
}

/** Searches the files of the grant below a folder, or one file. */
export async function searchLines(
  scope: FileScope, resolved: ResolvedPath, request: SavedSearch, signal: AbortSignal,
): Promise<LinesFound> {
  const found = await scope.lstat(resolved)
  const search = found?.kind === 'file' ? searchFile : searchFolder
  return search(scope, resolved, request, signal)
}

/** Passes a descriptor, so that ripgrep reads the file that was checked. */
function searchFile(
  scope: FileScope, resolved: ResolvedPath, request: SavedSearch, signal: AbortSignal,
): Promise<LinesFound> {
  return scope.withFile(resolved, READ, async (handle) => {
    if (!(await handle.stat()).isFile()) throw notRegular(resolved.given)
    const lines = collectorOf(request, () => resolved.given)
    const args = argumentsOf(request)
    const unread = await runRipgrep({ args, cwd: '/', input: handle.fd, signal, take: takeInto(lines, request) })
    const found = lines.end()
    await save(lines, request)
    return { ...found, unread }
  })
}

function searchFolder(
  scope: FileScope, resolved: ResolvedPath, request: SavedSearch, signal: AbortSignal,
): Promise<LinesFound> {
  const wanted = request.glob === undefined ? undefined : globTest(request.glob)
  return scope.asFolder(resolved, async (folder) => {
    const granted = await scope.matcher()
    const all = await scope.coversAll(resolved)
    const lines = collectorOf(request, (path) => {
      if (wanted !== undefined && !wanted(path)) return undefined
      return all || granted(joinNames(resolved.real, path)).covers ? shownPath(request.path, [path]) : undefined
    })
    const narrowed = request.glob === undefined || request.type !== undefined ? [] : narrowingArguments(request.glob)
    const args = [...argumentsOf(request), ...narrowed]
    const unread = await runRipgrep({ args, cwd: folder.at('.'), signal, take: takeInto(lines, request) })
    const found = lines.end()
    await save(lines, request)
    if (!scope.isRuled) return { ...found, unread }
    // Counted by name: the number must not tell whether the content of such a file matches.
    let leftOut = 0
    const isWanted = (path: string): boolean =>
      wanted?.(path) !== false && granted(joinNames(resolved.real, path)).isLeftOut === true
    await eachPath({ folder, args: [...typeArguments(request), ...narrowed], isWanted, signal }, () => ++leftOut > 0)
    return { ...found, unread, ...(leftOut > 0 && { leftOut }) }
  })
}

type ShownPath = (path: string) => string | undefined

function collectorOf({ want, limit, context, whole }: SavedSearch, shown: ShownPath): Collector {
  const saves = whole !== undefined
  return want === 'counts' ? new CountResults({ limit, saves, shownPath: shown })
    : new LineResults({ limit, context, saves, shownPath: shown })
}

const typeArguments = ({ type }: Pick<SearchRequest, 'type'>): readonly string[] =>
  type === undefined ? [] : [`--type=${type}`]

function argumentsOf({ pattern, ignoreCase, multiline, context, want, type }: SearchRequest): readonly string[] {
  return [
    '--crlf',
    ...(want === 'counts' ? ['--count', '--null', '--with-filename'] : ['--json', `--context=${context}`]),
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...typeArguments({ type }),
    `--regexp=${pattern}`,
  ]
}

function globTest(glob: string): (path: string) => boolean {
  const anchored = glob.replace(/^(?:\.?\/)+/, '')
  const isName = anchored === glob && !/^!|\//.test(glob)
  const pattern = compileFilePattern(isName ? `**/${glob}` : anchored)
  return (path) => pattern.matches(path)
}
