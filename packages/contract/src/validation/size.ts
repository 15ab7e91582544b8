import { z } from 'zod'

const UNITS: ReadonlyMap<string, number> = new Map([['KB', 1024], ['MB', 1024 * 1024]])

/** A number of bytes, or a text such as `200KB`. */
export const byteSize = z.union([z.int().positive(), z.string().regex(/^[1-9]\d{0,9}(?:B|KB|MB)?$/, 'a size such as 200KB')])
  .describe('A size in bytes, or a text such as 200KB.')
export type ByteSize = z.infer<typeof byteSize>

export function parseByteSize(size: ByteSize): number {
  if (typeof size === 'number') return size
  return Number.parseInt(size, 10) * (UNITS.get(size.slice(-2)) ?? 1)
}
