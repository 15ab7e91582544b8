import type { LinesFound } from '@bulkhead/contract'
import type { FileScope } from '../file-scope.ts'
import { notRegular } from '../file-errors.ts'
import type { Place } from '../path-policy.ts'
import { joinNames } from '../paths.ts'
import { READ } from '../read-file.ts'
import { shownPath } from '../shown-path.ts'
import { compileFilePattern } from './file-pattern.ts'
import { FoundCounts } from './found-counts.ts'
import { FoundLines } from './results.ts'
import { narrowing } from './narrowing.ts'
import { runRipgrep } from './ripgrep.ts'
import type { SearchRequest } from './request.ts'

/** Lines of the files of a grant below a folder, or of one file. */
export async function searchLines(
  scope: FileScope, place: Place, request: SearchRequest, signal: AbortSignal,
): Promise<LinesFound> {
  const found = await scope.look(place)
  return found?.kind === 'file' ? searchFile(scope, place, request, signal) : searchFolder(scope, place, request, signal)
}

/** By a descriptor: what was judged is what is read. */
function searchFile(scope: FileScope, place: Place, request: SearchRequest, signal: AbortSignal): Promise<LinesFound> {
  return scope.withFile(place, READ, async (handle) => {
    if (!(await handle.stat()).isFile()) throw notRegular(place.given)
    const lines = collectorOf(request, () => place.given)
    const unread = await runRipgrep({ args: argumentsOf(request), cwd: '/', input: handle.fd, signal, take: (bytes) => lines.add(bytes) })
    return { ...lines.end(), unread }
  })
}

function searchFolder(scope: FileScope, place: Place, request: SearchRequest, signal: AbortSignal): Promise<LinesFound> {
  const wanted = request.glob === undefined ? undefined : globTest(request.glob)
  return scope.asFolder(place, async (folder) => {
    const granted = await scope.matcher()
    const all = await scope.coversAll(place)
    const lines = collectorOf(request, (path) => {
      if (wanted !== undefined && !wanted(path)) return undefined
      return all || granted(joinNames(place.real, path)).covers ? shownPath(request.path, [path]) : undefined
    })
    const args = [...argumentsOf(request), ...(request.glob === undefined || request.type !== undefined ? [] : narrowing(request.glob))]
    const unread = await runRipgrep({ args, cwd: folder.at('.'), signal, take: (bytes) => lines.add(bytes) })
    return { ...lines.end(), unread }
  })
}

type ShownPath = (path: string) => string | undefined

const collectorOf = ({ want, limit, context }: SearchRequest, shown: ShownPath): FoundCounts | FoundLines =>
  want === 'counts' ? new FoundCounts({ limit, shownPath: shown }) : new FoundLines({ limit, context, shownPath: shown })

function argumentsOf({ pattern, ignoreCase, multiline, context, want, type }: SearchRequest): readonly string[] {
  return [
    '--crlf',
    ...(want === 'counts' ? ['--count', '--null', '--with-filename'] : ['--json', `--context=${context}`]),
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...(type === undefined ? [] : [`--type=${type}`]),
    `--regexp=${pattern}`,
  ]
}

function globTest(glob: string): (path: string) => boolean {
  const anchored = glob.replace(/^(?:\.?\/)+/, '')
  const isName = anchored === glob && !/^!|\//.test(glob)
  const pattern = compileFilePattern(isName ? `**/${glob}` : anchored)
  return (path) => pattern.matches(path)
}
