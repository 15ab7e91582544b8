import { gzipSync } from 'node:zlib'

interface Entry {
  readonly name?: string
  readonly type?: string
  readonly body?: string | Uint8Array
  /** Overrides the correct value in the header. */
  readonly size?: number | string
  readonly link?: string
  readonly prefix?: string
  readonly magic?: string
  readonly checksum?: number
  readonly rawName?: Uint8Array
}

const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`

/** A tar entry with any content, written by hand from the format and not with the tested code. */
export function entry({
  name = 'package/a.js', type = '0', body = '', size, link = '', prefix = '', magic = 'ustar\u000000', checksum,
  rawName,
}: Entry = {}): Buffer {
  const bytes = Buffer.from(body as string)
  const header = Buffer.alloc(512)
  header.write(name, 0, 100)
  if (rawName !== undefined) header.set(rawName, 0)
  header.write(octal(0o777, 8), 100)
  header.write(octal(501, 8), 108)
  header.write(octal(20, 8), 116)
  if (typeof size === 'string') header.write(size, 124, 'latin1')
  else header.write(octal(size ?? bytes.length, 12), 124)
  header.write(octal(0, 12), 136)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157, 100)
  header.write(magic, 257, 'latin1')
  header.write(prefix, 345, 155)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${(checksum ?? sum).toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
}

export const pax = (records: string, type = 'x'): Buffer => entry({ name: 'PaxHeader/x', type, body: records })
export const END = Buffer.alloc(1024)
export const archive = (...entries: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...entries, END]))
