import { hash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { constants, readFileSync, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { access, open, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { isResourceShortage } from './resources.ts'
import { Denial, type Cures } from '../model/denial.ts'
import { startFault } from './start-error.ts'
import type { OffLimits } from './untrusted-folders.ts'

/** As in requirements: a name, never a path. */
const BARE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/
const SET_ID = 0o6000n
const WRITABLE_BY_ALL = 0o002n
/** A larger one takes too long to be read as a whole. */
const WHOLE_BYTES = 64n * 1024n * 1024n

/** How a file starts that the system itself can execute: a script that names its interpreter, ELF, and the forms of Mach-O. */
const SCRIPT_START = '2321'
const PROGRAM_STARTS: ReadonlySet<string> = new Set(
  process.platform === 'darwin' ? ['cafebabe', 'cefaedfe', 'cffaedfe'] : ['7f454c46'],
)

export interface Executable {
  readonly name: string
  readonly path: string
  /** Which file is behind the path, links followed. */
  readonly identity: string
  /** When something was done to it last. That cannot be set back, as the time of its content can. */
  changedNs: bigint
  /** Of its content, unless it is too large. */
  readonly digest: string | undefined
}

/** The programs of a fixed list of folders, each found once and held to being the same file from then on. */
export class Executables {
  readonly #folders: readonly string[]
  readonly #offLimits: OffLimits
  readonly #found = new Map<string, Promise<Executable>>()

  constructor(folders: readonly string[], offLimits: OffLimits) {
    const relative = folders.find((folder) => !isAbsolute(folder) || folder.includes(':'))
    if (relative !== undefined) {
      throw new BulkheadError('ConfigInvalid', `"${relative}" is no folder to search for commands. Name absolute ones.`)
    }
    this.#folders = folders
    this.#offLimits = offLimits
  }

  /** Contract: rejects with NotFound, or with CapabilityDenied for a file that must not be run. */
  find(name: string): Promise<Executable> {
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const search = this.#search(name)
    this.#found.set(name, search)
    // What is not there yet may come; only what was found is held on to.
    search.catch(() => this.#found.delete(name))
    return search
  }

  async #search(name: string): Promise<Executable> {
    if (!BARE_NAME.test(name)) throw refused(name, 'is not the bare name of a command')
    for (const folder of this.#folders) {
      const path = join(folder, name)
      const file = await stat(path, { bigint: true }).catch(() => undefined)
      if (file?.isFile() !== true || !await isExecutable(path)) continue
      if ((file.mode & SET_ID) !== 0n) throw refused(name, 'runs as another user or group')
      if ((file.mode & WRITABLE_BY_ALL) !== 0n) throw refused(name, 'can be written by anyone')
      if (await this.#offLimits.reaches(path)) throw refused(name, 'lies in, or is linked through, a folder that tools write to')
      // What has no such start is given to a shell by the system's own search for programs.
      const content = await readProgram(path, file)
      if (content === undefined) throw refused(name, 'is neither a program nor a script that names its interpreter')
      return { name, path, identity: identityOf(file), changedNs: file.ctimeNs, digest: content.digest }
    }
    throw new BulkheadError('NotFound', `The command "${name}" is not installed in ${this.#folders.join(', ')}.`, {
      data: { cmd: name },
    })
  }
}

/** To be called in the turn of the event loop that starts it: what lies between this look and the start is the system's alone. */
export function proveUnchanged(executable: Executable): void {
  const { name, path, identity, changedNs } = executable
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (file !== undefined && identityOf(file) === identity && (file.ctimeNs === changedNs || isWhole(executable, file))) return
  const what = `The command "${name}" is not run: it is no longer the file it was when it was first used.`
  throw new Denial(what, CHANGED, { power: 'shell', cmd: name })
}

const CHANGED: Cures = {
  author: 'Start the extension again to accept the change.',
  caller: 'Ask the operator to start the host again, which accepts the change.',
}

const identityOf = ({ dev, ino, mode, size, mtimeNs }: BigIntStats): string => [dev, ino, mode, size, mtimeNs].join(':')

/** Whoever gives a file one more name, as package managers do, does something to it and changes no byte of it. */
function isWhole(executable: Executable, { ctimeNs }: BigIntStats): boolean {
  const { path, digest } = executable
  try {
    if (digest === undefined || digestOf(readFileSync(path)) !== digest) return false
    // Nothing was done to it while it was read.
    if (statSync(path, { bigint: true }).ctimeNs !== ctimeNs) return false
  } catch {
    return false
  }
  executable.changedNs = ctimeNs
  return true
}

const digestOf = (content: Uint8Array): string => hash('sha256', content, 'base64')

const isExecutable = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false)

/** undefined for what the system itself cannot execute. */
async function readProgram(path: string, { size }: BigIntStats): Promise<Pick<Executable, 'digest'> | undefined> {
  const file = await open(path, constants.O_RDONLY).catch((error: unknown) => {
    if (isResourceShortage(error)) throw startFault(error)
  })
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    const start = buffer.subarray(0, bytesRead).toString('hex')
    if (!PROGRAM_STARTS.has(start) && !start.startsWith(SCRIPT_START)) return undefined
    return { digest: size > WHOLE_BYTES ? undefined : digestOf(await wholeOf(file, size)) }
  } finally {
    await file.close()
  }
}

/** From its beginning, wherever the handle stands. */
async function wholeOf(file: FileHandle, size: bigint): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Number(size)), 0, Number(size), 0)
  return buffer.subarray(0, bytesRead)
}

const refused = (name: string, why: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', `The command "${name}" is not run: it ${why}. Run another one.`, {
    data: { power: 'shell', cmd: name },
  })
