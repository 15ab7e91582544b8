import {
  closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { findOwnershipFault, readDescriptor } from '../files/read-file.ts'

const MAX_BYTES = 256 * 1024 * 1024
/** Changes with the format of the entries. */
const FORMAT = 'bulkhead-index-2'

/** Three parts: each start needs the first two for all extensions, and the third for a few. */
export interface IndexContent {
  /** JSON. */
  readonly rows: unknown
  readonly stamps: Float64Array
  /** As stored. Parsed in pieces, on use. */
  readonly texts: Buffer
}

/**
 * The content written under the same key, or undefined. The first line holds the format, the key, the lengths of the
 * parts and a checksum. A file that is damaged, of another version, or writable by others is ignored. Contract: never
 * throws.
 */
export function readIndexFile(file: string, key: string): IndexContent | undefined {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (findOwnershipFault(fstatSync(descriptor)) !== undefined) return undefined
      const read = readDescriptor(descriptor, MAX_BYTES)
      return read.ok ? partsOf(Buffer.from(read.bytes.buffer), key) : undefined
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return undefined
  }
}

function partsOf(bytes: Buffer, key: string): IndexContent | undefined {
  const end = bytes.indexOf(0x0a) + 1
  const head = bytes.toString('latin1', 0, end)
  const [rows = NaN, stamps = NaN] = head.split(' ').slice(2).map(Number)
  const payload = bytes.subarray(end)
  if (head !== headOf(key, rows, stamps, payload)) return undefined
  return {
    rows: JSON.parse(payload.toString('utf8', 0, rows)),
    // Copied because a Float64Array needs an aligned buffer.
    stamps: new Float64Array(bytes.buffer.slice(end + rows, end + rows + stamps)),
    texts: payload.subarray(rows + stamps),
  }
}

/**
 * Writes atomically. Contract: never throws; without the file the next start is only slower. The draft has a fixed
 * name, so the next writer removes one that a killed process left. When two write at once, one may be lost.
 */
export function writeIndexFile(file: string, key: string, { rows, stamps, texts }: IndexContent): void {
  const draft = `${file}.tmp`
  try {
    const table = Buffer.from(JSON.stringify(rows))
    const payload = Buffer.concat([table, new Uint8Array(stamps.buffer), texts])
    const head = headOf(key, table.length, stamps.byteLength, payload)
    // Not recursive: reading must not create a missing home folder.
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { mode: 0o700 })
    rmSync(draft, { force: true })
    writeNew(draft, [head, payload])
    renameSync(draft, file)
  } catch {
    discard(draft)
  }
}

function writeNew(file: string, parts: readonly (string | Buffer)[]): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    for (const part of parts) writeFileSync(descriptor, part)
  } finally {
    closeSync(descriptor)
  }
}

function discard(draft: string): void {
  try {
    rmSync(draft, { force: true })
  } catch {
    // Nothing was written.
  }
}

const headOf = (key: string, rows: number, stamps: number, payload: Uint8Array): string =>
  `${FORMAT} ${key} ${rows} ${stamps} ${payload.length} ${crc32(payload)}\n`
