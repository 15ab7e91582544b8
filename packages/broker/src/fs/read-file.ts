import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { notRegular } from './file-errors.ts'
import type { FileScope } from './file-scope.ts'
import type { Place } from './path-policy.ts'

/** Read or written at once; a larger file is read in ranges. */
export const MAX_BYTES = 8 * 1024 * 1024
// Not blocking: the open of a pipe that nobody writes to would wait for ever. And no terminal becomes the host's own.
export const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

export interface Range {
  readonly start?: number
  readonly end?: number
}

export function readRange(given: Json | undefined): Range {
  if (given === undefined || given === null) return {}
  if (!isJsonObject(given)) throw new BulkheadError('InputInvalid', 'The range is not an object with start and end.')
  const bound = (key: 'start' | 'end'): Range => {
    const value = given[key]
    if (value === undefined) return {}
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return { [key]: value }
    throw new BulkheadError('InputInvalid', `The ${key} of a range must be a whole number of bytes.`)
  }
  return { ...bound('start'), ...bound('end') }
}

/** The bytes of a regular file, or a part of them. */
export function readFile(scope: FileScope, place: Place, range: Range): Promise<Buffer> {
  return scope.withFile(place, READ, (handle) => readBytes(handle, place.given, range))
}

async function readBytes(handle: FileHandle, path: string, { start = 0, end }: Range): Promise<Buffer> {
  const found = await handle.stat()
  if (!found.isFile()) throw notRegular(path)
  const length = Math.max(0, Math.min(end ?? found.size, found.size) - start)
  if (length > MAX_BYTES) {
    throw new BulkheadError(
      'InputInvalid',
      `"${path}" has ${found.size} bytes; at most ${MAX_BYTES} are read at once. Read it in ranges.`,
      { data: { size: found.size } },
    )
  }
  const bytes = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
