import type { BigIntStats } from 'node:fs'
import { constants, statSync } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { isNoRoom } from '../../os/no-room.ts'
import { Denial, type Cures } from '../denial.ts'
import { startFault } from './start-fault.ts'
import type { OffLimits } from './off-limits.ts'

/** As in requirements: a name, never a path. */
const BARE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/
const SET_ID = 0o6000n
const WRITABLE_BY_ALL = 0o002n

/** How a file starts that the system itself can execute: a script that names its interpreter, ELF, and the forms of Mach-O. */
const SCRIPT_START = '2321'
const PROGRAM_STARTS: ReadonlySet<string> = new Set(
  process.platform === 'darwin' ? ['cafebabe', 'cefaedfe', 'cffaedfe'] : ['7f454c46'],
)

export interface Executable {
  readonly name: string
  readonly path: string
  /** Of the file behind the path, links followed: which it is, and that nobody wrote to it. */
  readonly identity: string
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
      if (!await startsLikeProgram(path)) throw refused(name, 'is neither a program nor a script that names its interpreter')
      return { name, path, identity: identityOf(file) }
    }
    throw new BulkheadError('NotFound', `The command "${name}" is not installed in ${this.#folders.join(', ')}.`, {
      data: { cmd: name },
    })
  }
}

/** To be called in the turn of the event loop that starts it: what lies between this look and the start is the system's alone. */
export function proveUnchanged({ name, path, identity }: Executable): void {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (file !== undefined && identityOf(file) === identity) return
  const what = `The command "${name}" is not run: it is no longer the file it was when it was first used.`
  throw new Denial(what, CHANGED, { power: 'shell', cmd: name })
}

const CHANGED: Cures = {
  author: 'Start the extension again to accept the change.',
  caller: 'Ask the operator to start the host again, which accepts the change.',
}

// The time of the last change to the file's record cannot be set back, which that of its content can.
const identityOf = ({ dev, ino, mode, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, mode, size, mtimeNs, ctimeNs].join(':')

const isExecutable = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false)

async function startsLikeProgram(path: string): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY).catch((error: unknown) => {
    if (isNoRoom(error)) throw startFault(error)
  })
  if (file === undefined) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    const start = buffer.subarray(0, bytesRead).toString('hex')
    return PROGRAM_STARTS.has(start) || start.startsWith(SCRIPT_START)
  } finally {
    await file.close()
  }
}

const refused = (name: string, why: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', `The command "${name}" is not run: it ${why}. Run another one.`, {
    data: { power: 'shell', cmd: name },
  })
