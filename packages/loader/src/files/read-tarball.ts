import { gunzip } from 'node:zlib'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { LoaderLimits } from '../model/limits.ts'
import { findNameFault, findPathFault, foldName } from './read-package.ts'
import { BLOCK, ENTRY_KINDS, readHeader, readPaxRecords } from './tar-format.ts'

export type TarballRead =
  /** Files by path, without the top-level folder. */
  | { readonly ok: true; readonly files: ReadonlyMap<string, Uint8Array> }
  /** The message continues "The archive". */
  | { readonly ok: false; readonly message: string }

type Limits = Pick<LoaderLimits, 'files' | 'fileBytes' | 'packageBytes' | 'folderDepth'>

const MAX_PAX_BYTES = 64 * 1024
const PAX_KEYS: ReadonlySet<string> = new Set(['path', 'size'])
const NO_KEYS: ReadonlySet<string> = new Set()

/**
 * The files of a package, from a gzipped tar with one top-level folder, as npm makes them. Writes nothing and repairs
 * nothing: an absolute path or one with `..`, a link, a device, a duplicate or colliding name, anything beyond the
 * limits or after the end refuses the archive. Contract: never throws; memory is bounded by the limits.
 */
export async function readTarball(bytes: Uint8Array, limits: Limits): Promise<TarballRead> {
  // Each entry has a header and padding, there may be as many folders as files, and two blocks end the archive.
  const most = limits.packageBytes + limits.files * 4 * BLOCK + 20 * BLOCK
  const archive = bytes[0] === 0x1f && bytes[1] === 0x8b
    ? await unzip(bytes, most) : refuse('is not gzipped. Use a .tgz from "bulkhead pack" or npm')
  return archive instanceof Uint8Array ? new Unpacking(limits).read(archive) : archive
}

/** In a thread of a pool. */
export const run = ({ bytes, limits }: TarballQuestion): Promise<TarballRead> => readTarball(bytes, limits)

export interface TarballQuestion {
  readonly bytes: Uint8Array
  readonly limits: Limits
}

function unzip(bytes: Uint8Array, most: number): Promise<Uint8Array | TarballRead> {
  return new Promise((resolve) => {
    const options = { maxOutputLength: most, info: true } as object
    gunzip(bytes, options, (error: (Error & { code?: string }) | null, result: unknown) => {
      if (error?.code === 'ERR_BUFFER_TOO_LARGE') resolve(refuse(`unpacks to more than ${most} bytes`))
      else if (error) resolve(refuse(`cannot be unzipped: ${visibleText(messageOf(error))}. Get the file again`))
      else {
        const { buffer, engine } = result as { buffer: Uint8Array; engine: { bytesWritten: number } }
        resolve(engine.bytesWritten === bytes.length ? buffer : refuse('has bytes after its end'))
      }
    })
  })
}

class Unpacking {
  readonly #limits: Limits
  readonly #files = new Map<string, Uint8Array>()
  /** By folded name. */
  readonly #names = new Map<string, { readonly kind: 'file' | 'folder'; readonly path: string }>()
  #entries = 0
  #bytes = 0
  #top: string | undefined

  constructor(limits: Limits) {
    this.#limits = limits
  }

  read(archive: Uint8Array): TarballRead {
    if (archive.length % BLOCK !== 0) return refuse('ends in the middle of a block')
    let extended: ReadonlyMap<string, string> | undefined
    for (let at = 0; at < archive.length;) {
      const block = archive.subarray(at, at + BLOCK)
      if (isZero(block)) {
        return extended === undefined ? this.#end(archive.subarray(at)) : refuse('ends after an extended header')
      }
      const read = readHeader(block)
      if (!read.ok) return refuse(read.message)
      const { header } = read
      const kind = ENTRY_KINDS.get(header.type)
      const name = extended?.get('path') ?? header.name
      if (kind === undefined) {
        return refuse(`has "${visibleText(name.slice(0, 200))}", which is a link, a device or an unknown type`)
      }
      const isPax = kind === 'pax' || kind === 'global-pax'
      if (isPax && extended !== undefined) return refuse('has two extended headers for one entry')
      const size = isPax ? header.size : sizeOf(extended, header.size)
      const body = archive.subarray(at + BLOCK, at + BLOCK + size)
      if (!(size >= 0) || body.length !== size) return refuse('ends in the middle of a file')
      const padding = archive.subarray(at + BLOCK + size, at + BLOCK + roundUp(size))
      if (!isZero(padding)) return refuse('has bytes between its files')
      at += BLOCK + roundUp(size)

      if (isPax) {
        if (size > MAX_PAX_BYTES) return refuse('has an extended header that is too long')
        // A global header applies to all later entries, so only comments are allowed.
        const records = readPaxRecords(body, kind === 'pax' ? PAX_KEYS : NO_KEYS)
        if (!records.ok) return refuse(records.message)
        extended = kind === 'pax' ? records.records : undefined
        continue
      }
      extended = undefined
      const message = kind === 'file'
        ? this.#addFile(name, body) : size > 0 ? 'has a folder with content' : this.#addFolder(name.replace(/\/$/, ''))
      if (message !== undefined) return refuse(message)
    }
    return refuse('has no end')
  }

  #end(rest: Uint8Array): TarballRead {
    if (rest.length < 2 * BLOCK) return refuse('has no end')
    if (!isZero(rest)) return refuse('has bytes after its end')
    return this.#files.size === 0 ? refuse('has no files') : { ok: true, files: this.#files }
  }

  #addFile(name: string, body: Uint8Array): string | undefined {
    const path = this.#pathOf(name)
    if (typeof path !== 'string') return path.message
    const shown = `"${visibleText(path)}"`
    if (path === '') return 'has a file in place of the top-level folder'
    if (body.length > this.#limits.fileBytes) {
      return `has ${shown} with ${body.length} bytes; ${this.#limits.fileBytes} are allowed`
    }
    this.#bytes += body.length
    if (this.#bytes > this.#limits.packageBytes) return `has more than ${this.#limits.packageBytes} bytes`
    const message = this.#claimParents(path) ?? this.#claim(path, 'file')
    // Copied, so that a small file does not keep the whole archive in memory.
    if (message === undefined) this.#files.set(path, Uint8Array.from(body))
    return message
  }

  #addFolder(name: string): string | undefined {
    const path = this.#pathOf(name)
    if (typeof path !== 'string') return path.message
    return path === '' ? this.#count() : this.#claimParents(path) ?? this.#claim(path, 'folder')
  }

  /** The path below the top-level folder. */
  #pathOf(name: string): string | { readonly message: string } {
    const shown = `"${visibleText(name.slice(0, 200))}"`
    const segments = name.split('/')
    const wrong = segments.find((segment) => segment === '' || segment === '.' || segment === '..')
    if (wrong !== undefined) return { message: `has ${shown}, which is not a path inside the package` }
    const fault = findPathFault(segments.slice(1).join('/'))
      ?? segments.map((segment) => findNameFault(segment)).find((found) => found !== undefined)
    if (fault !== undefined) return { message: `has ${shown}, which ${fault}` }
    if (segments.length - 2 > this.#limits.folderDepth) {
      return { message: `has ${shown}, more than ${this.#limits.folderDepth} folders deep` }
    }
    this.#top ??= segments[0]
    return segments[0] === this.#top
      ? segments.slice(1).join('/') : { message: `has ${shown} outside the folder "${visibleText(this.#top!)}"` }
  }

  #claimParents(path: string): string | undefined {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
      const message = this.#claim(path.slice(0, slash), 'folder')
      if (message !== undefined) return message
    }
    return undefined
  }

  #claim(path: string, kind: 'file' | 'folder'): string | undefined {
    const folded = foldName(path)
    const known = this.#names.get(folded)
    if (known?.path === path && known.kind === 'folder' && kind === 'folder') return undefined
    if (known?.path === path) return `has "${visibleText(path)}" twice`
    if (known !== undefined) {
      const names = `"${visibleText(path)}" and "${visibleText(known.path)}"`
      return `has ${names}, which collide on file systems that ignore case`
    }
    this.#names.set(folded, { kind, path })
    return this.#count()
  }

  #count(): string | undefined {
    return ++this.#entries > this.#limits.files ? `has more than ${this.#limits.files} files and folders` : undefined
  }
}

const roundUp = (size: number): number => Math.ceil(size / BLOCK) * BLOCK
const refuse = (message: string): TarballRead & { readonly ok: false } => ({ ok: false, message })

function sizeOf(extended: ReadonlyMap<string, string> | undefined, plain: number): number {
  const written = extended?.get('size')
  if (written === undefined) return plain
  return /^\d{1,12}$/.test(written) ? Number(written) : Number.NaN
}

/** A loop and not `every`, because the end of an archive may be long. */
function isZero(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== 0) return false
  return true
}
