import { fstatSync, closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { findForeignHand } from '../files/foreign-hand.ts'
import { readDescriptor } from '../files/read-file.ts'

const MAX_BYTES = 256 * 1024 * 1024
/** Changes with the form of what is remembered. */
const FORMAT = 'bulkhead-index-1'

/**
 * What was written under the same key, or undefined. The first line names the form, the key, and length and sum of the rest: what
 * is damaged, of another version or open to others is as good as not there. Contract: never throws.
 */
export function readIndexFile(file: string, key: string): unknown {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (findForeignHand(fstatSync(descriptor)) !== undefined) return undefined
      const read = readDescriptor(descriptor, MAX_BYTES)
      if (!read.ok) return undefined
      const end = read.bytes.indexOf(0x0a) + 1
      const payload = read.bytes.subarray(end)
      const head = Buffer.from(read.bytes.buffer, 0, end).toString('latin1')
      return head === headOf(key, payload) ? JSON.parse(Buffer.from(payload.buffer, end).toString('utf8')) : undefined
    } finally {
      closeSync(descriptor)
    }
  } catch {
    return undefined
  }
}

/** Whole or not at all. A place that cannot be written costs time at the next start, and nothing else: never throws. */
export function writeIndexFile(file: string, key: string, value: unknown): void {
  const draft = `${file}.${process.pid}.tmp`
  try {
    const payload = Buffer.from(JSON.stringify(value))
    // Not what is above it: a home that is not there is not made by looking.
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { mode: 0o700 })
    writeFileSync(draft, Buffer.concat([Buffer.from(headOf(key, payload)), payload]), { mode: 0o600, flag: 'wx' })
    renameSync(draft, file)
  } catch {
    discard(draft)
  }
}

function discard(draft: string): void {
  try {
    rmSync(draft, { force: true })
  } catch {
    // Where nothing can be written nothing was left behind either.
  }
}

const headOf = (key: string, payload: Uint8Array): string => `${FORMAT} ${key} ${payload.length} ${crc32(payload)}\n`
