import { basename, dirname } from 'node:path'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import type { CapabilityUnit, OpenCall } from '../model/capability.ts'
import { textArgument } from '../model/capability.ts'
import { editFile } from './edit/edit-file.ts'
import { FileScope, scopeOf, type HostFolders } from './file-scope.ts'
import type { GlobLimits } from './glob.ts'
import { GLOB_LIMITS, globFiles, readGlobRequest } from './glob.ts'
import { listFolder, statFile } from './list-folder.ts'
import { MAX_BYTES, readFile, readRange } from './read-file.ts'
import { compileFilePattern } from './search/file-pattern.ts'
import { findFiles } from './search/find-files.ts'
import { findRipgrep } from './search/ripgrep.ts'
import { searchLines } from './search/search-lines.ts'
import { readFindRequest, readSearchRequest } from './search/request.ts'
import { Searches } from './searches.ts'
import { shownPath } from './shown-path.ts'
import type { WatchLimits } from './watch.ts'
import { WATCH_LIMITS } from './watch.ts'
import { Watches } from './watches.ts'
import { removeFile, writeFile } from './write-file.ts'

export interface FsOptions extends HostFolders {
  /** Files outside a grant that a call may read all the same, each by this very path. */
  readonly lentFiles?: ((callId: string) => ReadonlySet<string>) | undefined
  readonly globLimits?: Partial<GlobLimits>
  readonly watchLimits?: Partial<WatchLimits>
}

type Scopes = Readonly<Record<'read' | 'write', FileScope>>

/** Files inside the grant of the tool: regular files and folders, nothing else. */
export function fsCapability(workspace: string, options: FsOptions): CapabilityUnit {
  const globLimits = { ...GLOB_LIMITS, ...options.globLimits }
  // Before any tool could have written there.
  void findRipgrep().catch(() => undefined)
  const watches = new Watches({ ...WATCH_LIMITS, ...options.watchLimits })
  const searches = new Searches()
  /** Compiled once for each tool: a grant does not change while its compartment stands. */
  const compiled = new WeakMap<OpenCall['tool']['grant'], Scopes>()
  const scopesOf = ({ tool: { grant } }: OpenCall): Scopes => {
    const known = compiled.get(grant)
    if (known !== undefined) return known
    const scopes = { read: scopeOf(grant, 'fs.read', workspace, options), write: scopeOf(grant, 'fs.write', workspace, options) }
    compiled.set(grant, scopes)
    return scopes
  }
  /** What a path that names one file is judged by. */
  const reading = (call: OpenCall, path: string): FileScope =>
    options.lentFiles?.(call.hostCallId ?? call.callId).has(path) === true ? lentScope(path, workspace) : scopesOf(call).read

  return {
    capabilities: {
      async 'fs.read'(call, args) {
        const [path, range] = [fileArgument(args), readRange(args[2])]
        const read = reading(call, path)
        const written = (bytes: Buffer): string => {
          call.effects?.add('readBytes', bytes.length)
          return bytes.toString(args[1] === 'bytes' ? 'base64' : 'utf8')
        }
        return read.readAtOnce(path, range, written) ?? written(await readFile(read, await read.locate(path), range))
      },
      async 'fs.list'(call, args) {
        const { read } = scopesOf(call)
        return listFolder(read, await read.locate(pathArgument(args)))
      },
      async 'fs.stat'(call, args) {
        const path = pathArgument(args)
        const read = reading(call, path)
        return statFile(read, await read.locate(path))
      },
      async 'fs.glob'(call, args) {
        const request = readGlobRequest(textArgument(args, 0, 'The pattern'), args[1], globLimits)
        const { read } = scopesOf(call)
        const found = await searches.run(call, async (signal) =>
          globFiles(read, await read.locate(request.path, 'leads'), request, globLimits, signal))
        return found.map((path) => shownPath(request.path, [path]))
      },
      async 'fs.find'(call, args) {
        const pattern = compileFilePattern(textArgument(args, 0, 'The pattern'))
        const request = readFindRequest(args[1])
        const found = await searches.run(call, (signal) => findFiles(scopesOf(call).read, pattern, request, signal))
        return found as unknown as JsonObject
      },
      async 'fs.search'(call, args) {
        const request = readSearchRequest(textArgument(args, 0, 'The pattern'), args[1])
        const read = reading(call, request.path)
        const found = await searches.run(call, async (signal) =>
          searchLines(read, await read.locate(request.path, 'leads'), request, signal))
        return found as unknown as JsonObject
      },
      async 'fs.watch'(call, args) {
        const { read } = scopesOf(call)
        const path = pathArgument(args)
        return watches.start(call.callId, read, () => read.locate(path, 'leads'))
      },
      async 'fs.watch.next'(call, args) {
        const id = textArgument(args, 0, 'The name of a watch', 32)
        if (args[1] !== 'drop') return watches.next(call.callId, id)
        await watches.stop(call.callId, id)
        return null
      },
      async 'fs.write'(call, args) {
        const [path, text] = [fileArgument(args), textArgument(args, 2, 'The content', 2 * MAX_BYTES)]
        const { write } = scopesOf(call)
        const bytes = Buffer.from(text, args[1] === 'bytes' ? 'base64' : 'utf8')
        const place = await write.locate(path)
        call.effects?.add('writtenBytes', bytes.length)
        return writeFile(write, place, bytes)
      },
      async 'fs.edit'(call, args) {
        const path = fileArgument(args)
        const [before, after] = [textArgument(args, 1, 'The old text'), textArgument(args, 2, 'The new text')]
        const { read, write } = scopesOf(call)
        const place = await write.locate(path)
        // Whether a text occurs in a file tells all that is in it, guess by guess.
        await read.locate(path)
        const { replacements, diff } = await editFile(write, place, { before, after, all: args[3] === true }, call.effects)
        return { replacements, diff: diff() }
      },
      async 'fs.remove'(call, args) {
        const { write } = scopesOf(call)
        return removeFile(write, await write.locate(pathArgument(args)))
      },
    },
    endCall(callId) {
      watches.endCall(callId)
      searches.endCall(callId)
    },
    async close() {
      await Promise.all([watches.close(), searches.close()])
    },
  }
}

/** That file alone, and nothing a link in its place might lead to. */
const lentScope = (path: string, workspace: string): FileScope =>
  new FileScope('fs.read', basename(path).includes('*') ? [] : [path], workspace, { roots: [dirname(path)] })

const pathArgument = (args: readonly Json[]): string => textArgument(args, 0, 'The path')

/** A path that ends in a slash names a folder, whatever lies there. */
function fileArgument(args: readonly Json[]): string {
  const path = pathArgument(args)
  if (/\/\.?$/.test(path)) throw new BulkheadError('InputInvalid', `"${path}" ends in a slash, which names a folder and no file.`)
  return path
}
