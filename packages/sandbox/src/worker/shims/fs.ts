import { Buffer } from 'node:buffer'
import { fileURLToPath } from 'node:url'
import type { DirectoryEntry, FileReader, FileStat, FileWriter } from '@bulkhead/contract'
import { brokerPath, shimModule, withCallback, type ShimHost } from './host.ts'

type Options = BufferEncoding | Readonly<Record<string, unknown>> | null | undefined

const W_OK = 2
/** Of the members of `node:fs`: neither a class nor a function that blocks. */
const hasPromise = (name: string): boolean => /^[a-z]/.test(name) && !name.endsWith('Sync')

/** `node:fs` and `node:fs/promises` by `runtime.fs` of the current call. */
export function fileModules(host: ShimHost): Readonly<Record<'fs' | 'fs/promises', object>> {
  const constants = Object.freeze({ F_OK: 0, W_OK, R_OK: 4 })
  const forms = promiseForms(host)
  const promises = shimModule(host, 'fs/promises', { ...forms, constants }, host.fsMembers.filter(hasPromise))
  const callbacks = Object.entries(forms).map(([name, work]) => [name, withCallback(name, work)] as const)
  const statSync = (path: unknown): Stats => {
    if (brokerPath(host, pathOf(path)) === '.') return new Stats({ kind: 'directory', size: 0, modifiedMs: 0 })
    throw host.error(
      'BuiltinDenied',
      '`statSync` of node:fs knows only the working directory in a compartment, which cannot wait for an answer. '
        + 'Use `stat` of node:fs/promises.',
    )
  }
  return {
    'fs/promises': promises,
    fs: shimModule(host, 'fs', { ...Object.fromEntries(callbacks), statSync, constants, promises }, host.fsMembers),
  }
}

type Files = FileReader & FileWriter
type Work = (...args: never[]) => Promise<unknown>

function promiseForms(host: ShimHost): Readonly<Record<string, Work>> {
  const files = (name: string): Files => host.use(`${name} of node:fs`, 'fs') as Files
  /** Runs the work on the path. Errors are those of Node where libraries check for them. */
  const on = async <Value>(
    name: string, given: unknown, work: (fs: Files, path: string) => Promise<Value>,
  ): Promise<Value> => {
    const path = pathOf(given)
    try {
      return await work(files(name), brokerPath(host, path))
    } catch (error) {
      throw codeOf(error) === 'NotFound' ? nodeError('ENOENT', 'no such file or directory', name, path, error) : error
    }
  }
  const ifExists = async <Value>(work: () => Promise<Value>): Promise<Value | undefined> => {
    try {
      return await work()
    } catch (error) {
      if (codeOf(error) === 'NotFound') return undefined
      throw error
    }
  }
  const unsupported = (name: string, option: string): Error =>
    host.error('InputInvalid', `The option ${option} of \`${name}\` does not exist in a compartment.`)
  /** Contract: throws for an option that would change the result. */
  const check = (name: string, given: Options, known: readonly string[]): Readonly<Record<string, unknown>> => {
    const options = typeof given === 'string' ? { encoding: given } : given ?? {}
    const other = Object.entries(options).find(([key, value]) => value !== undefined && !known.includes(key))
    if (other !== undefined) throw unsupported(name, other[0])
    return options
  }

  return {
    readFile: (path: unknown, options?: Options) => on('readFile', path, async (fs, at) => {
      const { encoding, flag, signal } = check('readFile', options, ['encoding', 'flag', 'signal'])
      if (flag !== undefined && flag !== 'r') throw unsupported('readFile', 'flag')
      ;(signal as AbortSignal | undefined)?.throwIfAborted()
      const bytes = Buffer.from(await fs.read(at))
      return encoding === undefined || encoding === null || encoding === 'buffer'
        ? bytes : bytes.toString(encoding as BufferEncoding)
    }),
    writeFile: (path: unknown, data: unknown, options?: Options) => on('writeFile', path, async (fs, at) => {
      const { encoding, flag, signal } = check('writeFile', options, ['encoding', 'mode', 'flag', 'flush', 'signal'])
      ;(signal as AbortSignal | undefined)?.throwIfAborted()
      if (flag === 'wx' && await ifExists(() => fs.stat(at)) !== undefined) {
        throw nodeError('EEXIST', 'file already exists', 'writeFile', pathOf(path))
      }
      if (flag !== undefined && flag !== 'w' && flag !== 'wx') throw unsupported('writeFile', 'flag')
      await fs.write(at, contentOf(data, encoding as BufferEncoding | undefined))
    }),
    stat: (path: unknown, options?: Options) => on('stat', path, async (fs, at) => {
      check('stat', options, [])
      return new Stats(await fs.stat(at))
    }),
    readdir: (path: unknown, options?: Options) => on('readdir', path, async (fs, at) => {
      const { withFileTypes, encoding } = check('readdir', options, ['withFileTypes', 'encoding'])
      if (encoding === 'buffer') throw unsupported('readdir', 'encoding')
      const entries = await fs.list(at)
      return entries.map((entry) => withFileTypes === true ? new Dirent(entry, pathOf(path)) : entry.name)
    }),
    access: (path: unknown, mode?: number) => on('access', path, async (fs, at) => {
      // Reading the member throws what to declare. Whether the grant covers the path, a write tells.
      if (mode !== undefined && (mode & W_OK) !== 0) void fs.write
      await fs.stat(at)
    }),
    mkdir: (path: unknown, options?: Options | number) => on('mkdir', path, async (fs, at) => {
      const { recursive } = check('mkdir', typeof options === 'number' ? undefined : options, ['recursive', 'mode'])
      const found = await ifExists(() => fs.stat(at))
      if (found !== undefined) {
        if (recursive === true && found.kind === 'directory') return undefined
        throw nodeError('EEXIST', 'file already exists', 'mkdir', pathOf(path))
      }
      const parent = at.replace(/\/?[^/]+\/*$/, '')
      if (recursive !== true && parent !== '') await fs.stat(parent)
      // The broker creates the folders of a file. Another `mkdir` of the same folder may remove the file first.
      const file = `${at.replace(/\/+$/, '')}/.bulkhead-mkdir`
      await fs.write(file, '')
      await ifExists(() => fs.remove(file))
      return undefined
    }),
    rm: (path: unknown, options?: Options) => on('rm', path, async (fs, at) => {
      const { recursive, force } = check('rm', options, ['recursive', 'force', 'maxRetries', 'retryDelay'])
      const remove = (): Promise<void> => fs.remove(at, { recursive: recursive === true })
      await (force === true ? ifExists(remove) : remove())
    }),
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code

function pathOf(given: unknown): string {
  if (typeof given === 'string') return given
  if (given instanceof URL) return fileURLToPath(given)
  if (given instanceof Uint8Array) return Buffer.from(given).toString()
  throw new TypeError('The path must be a string, a Buffer or a URL with the scheme file.')
}

function contentOf(data: unknown, encoding: BufferEncoding | undefined): string | Uint8Array {
  if (typeof data === 'string') {
    return encoding === undefined || /^utf-?8$/i.test(encoding) ? data : Buffer.from(data, encoding)
  }
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  throw new TypeError('The content of a file must be a string, a Buffer, a typed array or a DataView.')
}

function nodeError(code: string, what: string, syscall: string, path: string, cause?: unknown): Error {
  const error = new Error(`${code}: ${what}, ${syscall} '${path}'`, cause === undefined ? undefined : { cause })
  return Object.assign(error, { code, syscall, path })
}

/** What a file is. Links count as what they lead to. */
class Kind {
  readonly #kind: DirectoryEntry['kind']

  constructor(kind: DirectoryEntry['kind']) {
    this.#kind = kind
  }

  isFile(): boolean {
    return this.#kind === 'file'
  }

  isDirectory(): boolean {
    return this.#kind === 'directory'
  }

  isSymbolicLink(): boolean {
    return false
  }
}

class Stats extends Kind {
  readonly size: number
  readonly mtimeMs: number
  readonly mtime: Date

  constructor({ kind, size, modifiedMs }: FileStat) {
    super(kind)
    this.size = size
    this.mtimeMs = modifiedMs
    this.mtime = new Date(modifiedMs)
  }
}

class Dirent extends Kind {
  readonly name: string
  readonly parentPath: string

  constructor({ name, kind }: DirectoryEntry, parentPath: string) {
    super(kind)
    this.name = name
    this.parentPath = parentPath
  }
}
