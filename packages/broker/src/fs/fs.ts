import { basename, dirname } from 'node:path'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, type ChangeRecorder, type UndoAccess, type WholeOutput } from '@bulkhead/contract'
import { stringArgument, type CapabilityUnit, type OpenCall } from '../model/capability.ts'
import { applyUpdates } from './apply-updates.ts'
import type { BeforeChange } from './change-record.ts'
import { ClientFiles, type ClientOf } from './client-files.ts'
import { editFile } from './edit-file.ts'
import { FileScope, scopeOf, type HostFolders } from './file-scope.ts'
import { GLOB_LIMITS, globFiles, type GlobLimits } from './search/glob.ts'
import { listFolder, MAX_BYTES, readFile, readRange, statFile } from './read-file.ts'
import { compileFilePattern } from './search/file-pattern.ts'
import { findFiles } from './search/find-files.ts'
import { searchLines } from './search/search-lines.ts'
import { readFindRequest, readGlobRequest, readSearchRequest, type FindRequest } from './search/request.ts'
import { shownPath } from './paths.ts'
import { removeTree } from './remove-tree.ts'
import { readUpdates } from './update-request.ts'
import { undoAlone } from './undo/undo-alone.ts'
import { WATCH_LIMITS, type WatchLimits } from './watch.ts'
import { Watches } from './watches.ts'
import { removeFile, writeFile } from './write-file.ts'

export interface FsOptions extends HostFolders {
  /** Files outside the grant that a call may also read, each by exactly this path. */
  readonly extraFiles?: ((callId: string) => ReadonlySet<string>) | undefined
  /** The client of the session of a call. Its text files come before those of the disk. */
  readonly clientOf?: ClientOf | undefined
  /** Where changes of several files are noted until they are complete. Absent: a kill may leave only some of them. */
  readonly journal?: string | undefined
  readonly changes?: ChangeRecorder | undefined
  readonly undo?: UndoAccess | undefined
  /** What takes the whole output of a call, by the host's id. */
  readonly wholeOutput?: ((callId: string) => WholeOutput | undefined) | undefined
  readonly globLimits?: Partial<GlobLimits>
  readonly watchLimits?: Partial<WatchLimits>
}

type Scopes = Readonly<Record<'read' | 'write', FileScope>>

/** Regular files and folders inside the grant of the tool. */
export function fsCapability(workspace: string, options: FsOptions): CapabilityUnit {
  const globLimits = { ...GLOB_LIMITS, ...options.globLimits }
  const watches = new Watches({ ...WATCH_LIMITS, ...options.watchLimits })
  const long = new LongWork()
  const clients = new ClientFiles(options.clientOf ?? (() => undefined))
  /** Compiled once per tool: a grant does not change while its compartment lives. */
  const compiled = new WeakMap<OpenCall['tool']['grant'], Scopes>()
  const scopesOf = ({ tool: { grant }, uses }: OpenCall): Scopes => {
    const { read, write } = compiled.getOrInsertComputed(grant, () => ({
      read: scopeOf(grant, 'fs.read', workspace, options), write: scopeOf(grant, 'fs.write', workspace, options),
    }))
    return { read: read.under(uses), write: write.under(uses) }
  }
  /** The scope for a path that names one file. */
  const reading = (call: OpenCall, path: string): FileScope =>
    options.extraFiles?.(call.hostCallId ?? call.callId).has(path) === true
      ? singleFileScope(path, workspace) : scopesOf(call).read

  const wholeOf = ({ callId, hostCallId = callId }: OpenCall, { save }: FindRequest): WholeOutput | undefined =>
    save ? options.wholeOutput?.(hostCallId) : undefined

  const { changes } = options
  const recorderOf = ({ callId, hostCallId = callId }: OpenCall): BeforeChange['record'] =>
    changes && ((change) => changes.file(hostCallId, change))
  /** `what` begins, in words. */
  const before = (call: OpenCall, what: string): BeforeChange =>
    ({ record: recorderOf(call), begin: () => call.effects?.begin(what) })

  return {
    capabilities: {
      async 'fs.read'(call, args) {
        const [path, range] = [fileArgument(args), readRange(args[2])]
        const read = reading(call, path)
        const encoded = (bytes: Buffer): string => {
          call.effects?.add('readBytes', bytes.length)
          return bytes.toString(args[1] === 'bytes' ? 'base64' : 'utf8')
        }
        const client = clients.of(call)
        if (client === undefined) {
          return read.readSync(path, range, encoded) ?? encoded(await readFile(read, await read.locate(path), range))
        }
        const resolved = await read.locate(path)
        const bytes = await client.read(read, resolved)
        return encoded(bytes?.subarray(range.start, range.end) ?? await readFile(read, resolved, range))
      },
      async 'fs.list'(call, args) {
        const { read } = scopesOf(call)
        return listFolder(read, await read.locate(pathArgument(args)), args[1] === 'counted')
      },
      async 'fs.stat'(call, args) {
        const path = pathArgument(args)
        const read = reading(call, path)
        const resolved = await read.locate(path)
        const bytes = await clients.of(call)?.read(read, resolved)
        if (bytes === undefined) return statFile(read, resolved)
        const saved = await read.lstat(resolved) && await statFile(read, resolved) as JsonObject
        return { modifiedMs: Date.now(), ...saved, kind: 'file', size: bytes.length }
      },
      async 'fs.glob'(call, args) {
        const request = readGlobRequest(stringArgument(args, 0, 'The pattern'), args[1], globLimits.results)
        const { read } = scopesOf(call)
        const { paths, leftOut } = await long.run(call, async (signal) =>
          globFiles(read, await read.locate(request.path, 'leads'), request, globLimits, signal))
        const shown = paths.map((path) => shownPath(request.path, [path]))
        return args[2] === 'counted' ? { found: shown, leftOut } : shown
      },
      async 'fs.find'(call, args) {
        const pattern = compileFilePattern(stringArgument(args, 0, 'The pattern'))
        const request = readFindRequest(args[1])
        const whole = wholeOf(call, request)
        const found = await long.run(call, (signal) => findFiles(scopesOf(call).read, pattern, request, signal, whole))
        return found as unknown as JsonObject
      },
      async 'fs.search'(call, args) {
        const request = readSearchRequest(stringArgument(args, 0, 'The pattern'), args[1])
        const read = reading(call, request.path)
        const saved = { ...request, whole: wholeOf(call, request) }
        const found = await long.run(call, async (signal) =>
          searchLines(read, await read.locate(request.path, 'leads'), saved, signal))
        return found as unknown as JsonObject
      },
      async 'fs.watch'(call, args) {
        const { read } = scopesOf(call)
        const path = pathArgument(args)
        return watches.start(call.callId, read, () => read.locate(path, 'leads'))
      },
      async 'fs.watch.next'(call, args) {
        const id = stringArgument(args, 0, 'The id of the watch', 32)
        if (args[1] !== 'drop') return watches.next(call.callId, id)
        await watches.stop(call.callId, id)
        return null
      },
      async 'fs.write'(call, args) {
        const [path, text] = [fileArgument(args), stringArgument(args, 2, 'The content', 2 * MAX_BYTES)]
        const { write } = scopesOf(call)
        const bytes = Buffer.from(text, args[1] === 'bytes' ? 'base64' : 'utf8')
        const resolved = await write.locate(path)
        call.effects?.add('writtenBytes', bytes.length)
        const client = args[1] === 'bytes' ? undefined : clients.of(call)
        return writeFile(write, resolved, bytes, before(call, `writes ${path}`), client)
      },
      async 'fs.edit'(call, args) {
        const path = fileArgument(args)
        const [old, fresh] = [stringArgument(args, 1, 'The old string'), stringArgument(args, 2, 'The new string')]
        const { read, write } = scopesOf(call)
        const resolved = await write.locate(path)
        // An edit reveals whether a string occurs, so it also needs the right to read.
        await read.locate(path)
        const edit = { before: old, after: fresh, all: args[3] === true }
        const client = clients.of(call)
        const source = client?.isWhole ? client : undefined
        const { replacements, diff } = await editFile(write, resolved, edit, {
          before: before(call, `edits ${path}`), effects: call.effects, client: source,
        })
        return { replacements, diff: diff() }
      },
      async 'fs.apply'(call, args) {
        const client = clients.of(call)
        return applyUpdates(scopesOf(call), readUpdates(args[0]), {
          record: recorderOf(call), effects: call.effects, client: client?.isWhole ? client : undefined,
          journal: options.journal,
        })
      },
      async 'fs.remove'(call, args) {
        const [{ write }, path] = [scopesOf(call), pathArgument(args)]
        const removes = before(call, `removes ${path}`)
        if (args[1] !== true) return removeFile(write, await write.locate(path), removes)
        return long.run(call, (signal) => removeTree(write, path, removes, signal))
      },
      'fs.undo'(call, args) {
        if (changes === undefined || options.undo === undefined) throw undoUnavailable()
        return undoAlone(args[0], {
          workspace, call, scopes: scopesOf(call), access: options.undo, changes, client: clients.of(call),
          journal: options.journal,
        })
      },
    },
    endCall(callId) {
      clients.endCall(callId)
      watches.endCall(callId)
      long.endCall(callId)
    },
    async close() {
      await Promise.all([watches.close(), long.close()])
    },
  }
}

/** Covers one file, and not the target of a link in its place. */
const singleFileScope = (path: string, workspace: string): FileScope =>
  new FileScope('fs.read', basename(path).includes('*') ? [] : [path], workspace, { roots: [dirname(path)] })

const pathArgument = (args: readonly Json[]): string => stringArgument(args, 0, 'The path')

function fileArgument(args: readonly Json[]): string {
  const path = pathArgument(args)
  if (!/\/\.?$/.test(path)) return path
  throw new BulkheadError('InputInvalid', `"${path}" ends in a slash, so it names a folder. Use the path of a file.`)
}

const undoUnavailable = (): BulkheadError => new BulkheadError(
  'CapabilityUnavailable',
  'Changes cannot be undone here. Only the bundled tool `undo` can, on a host whose store records changes.',
)

/** Searches and removals of one compartment. Each is aborted when its call ends. */
class LongWork {
  readonly #stops = new Map<string, AbortController>()
  readonly #running = new Set<Promise<unknown>>()

  /** The signal aborts with that of the call, and when the call ends. */
  async run<T>({ callId, signal }: OpenCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = this.#stops.get(callId) ?? new AbortController()
    this.#stops.set(callId, stop)
    const running = work(AbortSignal.any([signal, stop.signal]))
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  endCall(callId: string): void {
    this.#stops.get(callId)?.abort(over())
    this.#stops.delete(callId)
  }

  /** Resolves when all of it has ended. */
  async close(): Promise<void> {
    for (const callId of [...this.#stops.keys()]) this.endCall(callId)
    await Promise.allSettled(this.#running)
  }
}

const over = (): BulkheadError =>
  new BulkheadError('ToolCancelled', 'The work was stopped because its call has ended. Await it inside the call.')
