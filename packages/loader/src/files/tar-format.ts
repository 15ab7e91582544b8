import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { byteOrder } from '../model/digest.ts'

/** The block size of tar. */
export const BLOCK = 512

/** Supported entry types. Others are links, devices or vendor extensions. */
export const ENTRY_KINDS: ReadonlyMap<string, 'file' | 'folder' | 'pax' | 'global-pax'> = new Map([
  ['0', 'file'], ['\0', 'file'], ['5', 'folder'], ['x', 'pax'], ['g', 'global-pax'],
])

export interface TarHeader {
  /** Prefix and name. */
  readonly name: string
  readonly size: number
  readonly type: string
}

export type HeaderRead =
  | { readonly ok: true; readonly header: TarHeader }
  | { readonly ok: false; readonly message: string }

/** Parses one ustar header strictly, because lenient readers disagree about malformed ones. Contract: never throws. */
export function readHeader(block: Uint8Array): HeaderRead {
  if (octal(block, 148, 8) !== checksumOf(block)) return fault('has a header with a wrong checksum')
  const magic = latin(block, 257, 8)
  if (magic !== 'ustar\u000000' && magic !== 'ustar  \0') return fault('has a header that is not in ustar format')
  const size = octal(block, 124, 12)
  const name = textField(block, 0, 100)
  // GNU tar stores times in place of the prefix.
  const prefix = magic === 'ustar\u000000' ? textField(block, 345, 155) : ''
  if (size === null) return fault('has an entry with an invalid size')
  if (name === null || prefix === null) return fault('has an entry with an invalid name')
  return { ok: true, header: { name: prefix === '' ? name : `${prefix}/${name}`, size, type: latin(block, 156, 1) } }
}

function writeHeader({ name, size, type }: TarHeader, mtime: number): Uint8Array {
  const block = Buffer.alloc(BLOCK)
  const put = (value: string, at: number): void => void block.write(value, at, 'utf8')
  const number = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`
  put(name, 0)
  const fields = [[0o644, 100, 8], [0, 108, 8], [0, 116, 8], [size, 124, 12], [mtime, 136, 12]] as const
  for (const [value, at, length] of fields) put(number(value, length), at)
  put(type, 156)
  put('ustar\u000000', 257)
  for (const at of [329, 337]) put(number(0, 8), at)
  put(`${number(checksumOf(block), 7)} `, 148)
  return block
}

/** The sum of all bytes, with the checksum field read as spaces. */
function checksumOf(block: Uint8Array): number {
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += block[at]!
  return sum
}

const latin = (block: Uint8Array, at: number, length: number): string =>
  Buffer.from(block.buffer, block.byteOffset + at, length).toString('latin1')

/** Octal digits, ended by a NUL or a space. No sign, and no binary form. */
function octal(block: Uint8Array, at: number, length: number): number | null {
  const digits = /^ *([0-7]+)[\0 ]*$/.exec(latin(block, at, length))?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 8)
}

/** UTF-8 up to a NUL, with only NULs after it, because readers disagree about the rest. */
function textField(block: Uint8Array, at: number, length: number): string | null {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  if (end >= 0 && field.subarray(end).some((byte) => byte !== 0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(end < 0 ? field : field.subarray(0, end))
  } catch {
    return null
  }
}

const fault = (message: string): HeaderRead => ({ ok: false, message })

export type PaxRead =
  | { readonly ok: true; readonly records: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly message: string }

/** Keys that are accepted and ignored. */
const IGNORED: ReadonlySet<string> = new Set([
  'mtime', 'atime', 'ctime', 'uid', 'gid', 'uname', 'gname', 'comment', 'SCHILY.dev', 'SCHILY.ino', 'SCHILY.nlink',
  'SCHILY.fflags', 'LIBARCHIVE.creationtime',
])

/**
 * Parses an extended header: `length key=value` lines. Only path and size may override the header. Contract: never
 * throws.
 */
export function readPaxRecords(bytes: Uint8Array, allowed: ReadonlySet<string>): PaxRead {
  const records = new Map<string, string>()
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return paxFault('has an extended header that is not UTF-8')
  }
  // Lengths count bytes.
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    const length = Number(/^([1-9]\d{0,8}) /.exec(rest.subarray(0, 12).toString('latin1'))?.[1] ?? Number.NaN)
    const record = /^\d+ ([^=\0]+)=([^\0]*)\n$/s.exec(rest.subarray(0, length || 0).toString('utf8'))
    if (record === null || length > rest.length) return paxFault('has an extended header that cannot be read')
    const [, key = '', value = ''] = record
    if (records.has(key)) return paxFault('has an extended header with a duplicate key')
    if (allowed.has(key)) records.set(key, value)
    else if (!IGNORED.has(key)) return paxFault('has an extended header with an unsupported key')
    rest = rest.subarray(length)
  }
  return { ok: true, records }
}

/** The length includes its own digits. */
export function paxRecord(key: string, value: string): string {
  const body = Buffer.byteLength(` ${key}=${value}\n`)
  let length = body + String(body).length
  if (String(length).length > String(body).length) length++
  return `${length} ${key}=${value}\n`
}

const paxFault = (message: string): PaxRead => ({ ok: false, message })

/** The top-level folder, as in npm packages. */
const TOP = 'package'
/** A fixed time, 1985-10-26 as in npm packages. Some programs treat zero as missing. */
const MTIME = 499_162_500
const NAME_BYTES = 100

/** A gzipped tar that is reproducible: the same files give the same bytes. */
export async function writeTarball(files: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const blocks = [...files.keys()].toSorted(byteOrder).flatMap((path) => entryOf(`${TOP}/${path}`, files.get(path)!))
  const zipped = await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
  // The operating system field of gzip: unknown.
  zipped[9] = 0xff
  return zipped
}

function entryOf(name: string, bytes: Uint8Array): readonly Uint8Array[] {
  const fits = Buffer.byteLength(name) <= NAME_BYTES
  const header = (short: string, size: number, type: string) => writeHeader({ name: short, size, type }, MTIME)
  const record = Buffer.from(paxRecord('path', name))
  return [
    ...(fits ? [] : [header('PaxHeader', record.length, 'x'), ...padded(record)]),
    header(fits ? name : 'package/long-name', bytes.length, '0'), ...padded(bytes),
  ]
}

const padded = (bytes: Uint8Array): readonly Uint8Array[] =>
  [bytes, Buffer.alloc((BLOCK - bytes.length % BLOCK) % BLOCK)]
