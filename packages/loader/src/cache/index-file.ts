import {
  closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { findForeignHand, readDescriptor } from '../files/read-file.ts'

const MAX_BYTES = 256 * 1024 * 1024
/** Changes with the form of what is remembered. */
const FORMAT = 'bulkhead-index-2'

/** In three parts, since every start needs the first two of all extensions, and the third of a few. */
export interface IndexContent {
  /** JSON. */
  readonly rows: unknown
  readonly stamps: Float64Array
  /** As it stands in the file: parsed in pieces, by whoever needs one. */
  readonly texts: Buffer
}

/**
 * What was written under the same key, or undefined. The first line names the form, the key, the lengths of the parts and the sum
 * of all: what is damaged, of another version or open to others is as good as not there. Contract: never throws.
 */
export function readIndexFile(file: string, key: string): IndexContent | undefined {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (findForeignHand(fstatSync(descriptor)) !== undefined) return undefined
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
    // Copied, since numbers must stand where their size says.
    stamps: new Float64Array(bytes.buffer.slice(end + rows, end + rows + stamps)),
    texts: payload.subarray(rows + stamps),
  }
}

/**
 * Whole or not at all. A place that cannot be written costs time at the next start, and nothing else: never throws. The draft has one
 * name, so that whoever writes next removes what one left that was killed; of two that write at once, one may be in vain.
 */
export function writeIndexFile(file: string, key: string, { rows, stamps, texts }: IndexContent): void {
  const draft = `${file}.tmp`
  try {
    const table = Buffer.from(JSON.stringify(rows))
    const payload = Buffer.concat([table, new Uint8Array(stamps.buffer), texts])
    const head = headOf(key, table.length, stamps.byteLength, payload)
    // Not what is above it: a home that is not there is not made by looking.
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
    // Where nothing can be written nothing was left behind either.
  }
}

const headOf = (key: string, rows: number, stamps: number, payload: Uint8Array): string =>
  `${FORMAT} ${key} ${rows} ${stamps} ${payload.length} ${crc32(payload)}\n`
