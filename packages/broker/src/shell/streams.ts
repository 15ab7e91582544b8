import { execFile } from 'node:child_process'
import { constants, type Stats } from 'node:fs'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { notRegular } from '../fs/file-errors.ts'
import { scopeOf, type FileScope, type HostFolders } from '../fs/file-scope.ts'
import type { OpenCall } from '../model/capability.ts'
import { reaper } from '../process/reaper.ts'
import { temporaryFolder } from '../process/temporary-folder.ts'
import type { PipeRequest, StageTarget } from './request.ts'

const SAFE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

/** Files that commands are redirected from and to. The host opens and checks them like any other. Close it. */
export class StreamFiles {
  readonly #workspace: string
  readonly #call: OpenCall
  readonly #folder: string | undefined
  readonly #folders: HostFolders
  readonly #open = new Map<string, FileHandle>()

  constructor(workspace: string, call: OpenCall, folder: string | undefined, folders: HostFolders) {
    this.#workspace = workspace
    this.#call = call
    this.#folder = folder
    this.#folders = folders
  }

  /** Contract: rejects with CapabilityDenied outside the grant, before any file is emptied. */
  async openAll({ stages }: PipeRequest): Promise<void> {
    for (const { input } of stages) {
      if (typeof input === 'object') await this.#keep(inputKey(input.path), () => this.#openToRead(input.path))
    }
    const targets = stages.flatMap(({ stdout, stderr }) =>
      [stdout, stderr]).filter((target) => typeof target === 'object')
    for (const target of targets) await this.#keep(outputKey(target), () => this.#openToWrite(target))
    for (const target of targets) if (!target.append) await this.#open.get(outputKey(target))!.truncate(0)
  }

  input(path: string): number {
    return this.#open.get(inputKey(path))!.fd
  }

  output(target: Extract<StageTarget, object>): number {
    return this.#open.get(outputKey(target))!.fd
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((handle) => handle.close().catch(() => undefined)))
  }

  async #keep(key: string, opening: () => Promise<FileHandle>): Promise<void> {
    if (!this.#open.has(key)) this.#open.set(key, await opening())
  }

  async #openToRead(path: string): Promise<FileHandle> {
    const scope = this.#scope('fs.read')
    const resolved = await scope.locate(this.#fromFolder(path))
    return scope.inFolder(resolved, async (folder, name) =>
      checked(await open(folder.at(name), constants.O_RDONLY | SAFE), path))
  }

  async #openToWrite({ path, append }: Extract<StageTarget, object>): Promise<FileHandle> {
    const scope = this.#scope('fs.write')
    const resolved = await scope.locate(this.#fromFolder(path))
    const flags = constants.O_WRONLY | constants.O_CREAT | SAFE | (append ? constants.O_APPEND : 0)
    return scope.inFolder(resolved, async (folder, name) => {
      // A second hard link may be a file outside the grant.
      return checked(await open(folder.at(name), flags, 0o666), path, ({ nlink }) => {
        if (nlink !== 1) throw severalNames(path)
      })
    })
  }

  #scope(power: 'fs.read' | 'fs.write'): FileScope {
    return scopeOf(this.#call.tool.grant, power, this.#workspace, this.#folders).under(this.#call.uses)
  }

  #fromFolder(path: string): string {
    return path.startsWith('/') || this.#folder === undefined ? path : `${this.#folder}/${path}`
  }
}

/** Closes the handle if the check fails: Node crashes when an open handle is garbage collected. */
async function checked(handle: FileHandle, path: string, check?: (file: Stats) => void): Promise<FileHandle> {
  try {
    const file = await handle.stat()
    if (!file.isFile()) throw notRegular(path)
    check?.(file)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

const severalNames = (path: string): BulkheadError => new BulkheadError(
  'CapabilityDenied',
  `"${path}" has several hard links, so output is not redirected to it. Use a file with a single link.`,
)

const inputKey = (path: string): string => `< ${path}`
const outputKey = ({ path, append }: Extract<StageTarget, object>): string => `${append ? '>>' : '>'} ${path}`

const run = promisify(execFile)
const MAKE_MS = 10_000

/**
 * Pipes between commands. Node connects processes by sockets, and a command that writes to a closed socket gets another
 * error than from a closed pipe, and reports it.
 */
export class Fifos {
  readonly #ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]

  private constructor(ends: readonly { readonly read: FileHandle; readonly write: FileHandle }[]) {
    this.#ends = ends
  }

  /**
   * Contract: rejects with ResourceBusy, or with ToolExecutionFailed if no folder is writable. `mkfifo`: path of the
   * program.
   */
  static async open(count: number, mkfifo: string): Promise<Fifos> {
    if (count === 0) return new Fifos([])
    const folder = await temporaryFolder('bulkhead-pipe-', 'The pipe between commands')
    const release = reaper.hold('folder', folder)
    const ends: { read: FileHandle; write: FileHandle }[] = []
    try {
      const paths = Array.from({ length: count }, (_, index) => join(folder, String(index)))
      await run(mkfifo, ['-m', '600', '--', ...paths], { env: {}, timeout: MAKE_MS, killSignal: 'SIGKILL' })
      for (const path of paths) ends.push(await openEnds(path))
      return new Fifos(ends)
    } catch (error) {
      await new Fifos(ends).close()
      throw noPipe(error)
    } finally {
      await rm(folder, { recursive: true, force: true })
      release()
    }
  }

  /** The end from which the next command reads. */
  readEnd(index: number): number | undefined {
    return this.#ends[index]?.read.fd
  }

  writeEnd(index: number): number | undefined {
    return this.#ends[index]?.write.fd
  }

  /** Call it once the commands have inherited the ends, so that each sees the end of the other. */
  async close(): Promise<void> {
    const ends = this.#ends.flatMap(({ read, write }) => [read, write])
    await Promise.all(ends.map((end) => end.close().catch(() => undefined)))
  }
}

/**
 * open() waits for the other end, unless it is non-blocking. A temporary non-blocking reader is open until both are.
 */
async function openEnds(path: string): Promise<{ readonly read: FileHandle; readonly write: FileHandle }> {
  const temporary = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let write: FileHandle | undefined
  try {
    write = await open(path, constants.O_WRONLY)
    return { write, read: await open(path, constants.O_RDONLY) }
  } catch (error) {
    await write?.close()
    throw error
  } finally {
    await temporary.close()
  }
}

const noPipe = (cause: unknown): BulkheadError =>
  new BulkheadError('ResourceBusy', 'The pipe between commands could not be created. Try again later.', { cause })
