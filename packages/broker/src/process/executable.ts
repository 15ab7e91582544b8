import { hash } from 'node:crypto'
import { constants, readFileSync, statSync, type BigIntStats } from 'node:fs'
import { access, open, readlink, realpath, stat, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { isResourceShortage } from '@bulkhead/kit/processes'
import { Denial, type Remedies } from '../model/capability.ts'
import { startError } from './spawn.ts'

/** As in requirements: a name, never a path. */
const BARE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/
const SET_ID = 0o6000n
const WRITABLE_BY_ALL = 0o002n
/** A larger file takes too long to hash. */
const HASHED_BYTES = 64n * 1024n * 1024n

/** First bytes of files that the kernel can execute: scripts with an interpreter line, ELF, Mach-O. */
const SCRIPT_START = '2321'
const PROGRAM_STARTS: ReadonlySet<string> = new Set(
  process.platform === 'darwin' ? ['cafebabe', 'cefaedfe', 'cffaedfe'] : ['7f454c46'],
)

export interface Executable {
  readonly name: string
  readonly path: string
  /** Identifies the file behind the path, with links followed. */
  readonly identity: string
  /** ctime, which unlike mtime cannot be set back. */
  changedNs: bigint
  /** SHA-256 of the content, unless the file is too large. */
  readonly digest: string | undefined
}

/** Finds programs in a fixed list of folders. Each is pinned: from then on it must be the same file. */
export class Executables {
  readonly #folders: readonly string[]
  readonly #untrusted: UntrustedFolders
  readonly #found = new Map<string, Promise<Executable>>()

  constructor(folders: readonly string[], untrusted: UntrustedFolders) {
    const relative = folders.find((folder) => !isAbsolute(folder) || folder.includes(':'))
    if (relative !== undefined) {
      throw new BulkheadError(
        'ConfigInvalid',
        `"${relative}" is not an absolute folder. Commands are searched in absolute folders only.`,
      )
    }
    this.#folders = folders
    this.#untrusted = untrusted
  }

  /** Contract: rejects with NotFound, or with CapabilityDenied for a file that must not run. */
  find(name: string): Promise<Executable> {
    const known = this.#found.get(name)
    if (known !== undefined) return known
    const search = this.#search(name)
    this.#found.set(name, search)
    // Failures are not cached: the program may be installed later.
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
      if (await this.#untrusted.reaches(path)) {
        throw refused(name, 'lies in, or is linked through, a folder that tools can write')
      }
      // execvp() would run any other file in a shell.
      const content = await readProgram(path, file)
      if (content === undefined) throw refused(name, 'is neither a program nor a script that names its interpreter')
      return { name, path, identity: identityOf(file), changedNs: file.ctimeNs, digest: content.digest }
    }
    throw new BulkheadError('NotFound', `The command "${name}" is not installed in ${this.#folders.join(', ')}.`, {
      data: { cmd: name },
    })
  }
}

/** Call it in the same turn of the event loop as the start, to keep the gap between check and use small. */
export function requireUnchanged(executable: Executable): void {
  const { name, path, identity, changedNs } = executable
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  const isSameFile = file !== undefined && identityOf(file) === identity
  if (isSameFile && (file.ctimeNs === changedNs || isSameContent(executable, file))) return
  const what = `The command "${name}" was not run: the file has changed since it was first used.`
  throw new Denial(what, CHANGED, { power: 'shell', cmd: name })
}

const CHANGED: Remedies = {
  author: 'Restart the extension to accept the change.',
  caller: 'Ask the operator to restart the host, which accepts the change.',
}

const identityOf = ({ dev, ino, mode, size, mtimeNs }: BigIntStats): string => [dev, ino, mode, size, mtimeNs].join(':')

/** A new hard link, as package managers create them, changes ctime but not the content. */
function isSameContent(executable: Executable, { ctimeNs }: BigIntStats): boolean {
  const { path, digest } = executable
  try {
    if (digest === undefined || digestOf(readFileSync(path)) !== digest) return false
    // It must not have changed while it was read.
    if (statSync(path, { bigint: true }).ctimeNs !== ctimeNs) return false
  } catch {
    return false
  }
  executable.changedNs = ctimeNs
  return true
}

const digestOf = (content: Uint8Array): string => hash('sha256', content, 'base64')

const isExecutable = (path: string): Promise<boolean> => access(path, constants.X_OK).then(() => true, () => false)

/** undefined for a file that the kernel cannot execute. */
async function readProgram(path: string, { size }: BigIntStats): Promise<Pick<Executable, 'digest'> | undefined> {
  const file = await open(path, constants.O_RDONLY).catch((error: unknown) => {
    if (isResourceShortage(error)) throw startError(error)
  })
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    const start = buffer.subarray(0, bytesRead).toString('hex')
    if (!PROGRAM_STARTS.has(start) && !start.startsWith(SCRIPT_START)) return undefined
    return { digest: size > HASHED_BYTES ? undefined : digestOf(await wholeOf(file, size)) }
  } finally {
    await file.close()
  }
}

async function wholeOf(file: FileHandle, size: bigint): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Number(size)), 0, Number(size), 0)
  return buffer.subarray(0, bytesRead)
}

const refused = (name: string, why: string): BulkheadError =>
  new BulkheadError('CapabilityDenied', `The command "${name}" was not run: it ${why}. Use a different command.`, {
    data: { power: 'shell', cmd: name },
  })

const LINKS = 40

/** Folders that tools can write. A program there, or linked through there, could be replaced by a tool. */
export class UntrustedFolders {
  readonly #roots: readonly string[]

  /** A pattern counts as the folder above its first wildcard. `literal`: folders in which `*` is not a wildcard. */
  constructor(patterns: readonly string[], literal: readonly string[] = []) {
    this.#roots = [...new Set(patterns.map((pattern) => rootOf(pattern, literal)))]
  }

  /** Whether a path touches one of these folders, with its links followed one by one. */
  async reaches(path: string): Promise<boolean> {
    const roots = new Set(this.#roots)
    for (const root of this.#roots) roots.add(await realpath(root).catch(() => root))
    for await (const step of pathSteps(path)) {
      if (roots.has(step)) return true
    }
    return false
  }
}

function rootOf(pattern: string, literal: readonly string[]): string {
  const segments = pattern.split('/')
  const known = literal.filter((folder) => pattern === folder || pattern.startsWith(`${folder}/`))
    .map((folder) => folder.split('/').length)
  const fixed = Math.max(0, ...known)
  const wild = segments.findIndex((segment, index) => index >= fixed && segment.includes('*'))
  return (wild < 0 ? segments : segments.slice(0, wild)).join('/').replace(/(?<!\/)\/+$/, '') || '/'
}

/** Every folder on the way to a path, and the path itself, each with the links above it resolved. */
async function* pathSteps(path: string): AsyncGenerator<string> {
  let ahead = path.split('/')
  let at = '/'
  let links = 0
  while (ahead.length > 0) {
    const [name = '', ...rest] = ahead
    ahead = rest
    const here = join(at, name)
    yield here
    const target = await readlink(here).catch(() => undefined)
    if (target === undefined) {
      at = here
      continue
    }
    if (++links > LINKS) {
      throw new BulkheadError(
        'CapabilityDenied',
        'The command was not run: its path has too many links. Use a different command.',
      )
    }
    if (isAbsolute(target)) at = '/'
    ahead = [...target.split('/'), ...ahead]
  }
}
