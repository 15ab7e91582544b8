import type { Stats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { BulkheadError } from '@bulkhead/contract'
import type { OpenCall } from '../../model/capability.ts'
import { notRegular } from '../../fs/file-errors.ts'
import { scopeOf, type FileScope, type HostFolders } from '../../fs/file-scope.ts'
import type { PipeRequest, StageTarget } from './pipe-request.ts'

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
    const targets = stages.flatMap(({ stdout, stderr }) => [stdout, stderr]).filter((target) => typeof target === 'object')
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
    return scope.inFolder(resolved, async (folder, name) => checked(await open(folder.at(name), constants.O_RDONLY | SAFE), path))
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
    return scopeOf(this.#call.tool.grant, power, this.#workspace, this.#folders)
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
