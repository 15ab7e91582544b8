import { Buffer } from 'node:buffer'
import { sameBytes } from './views.ts'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { apply } = Reflect
const { isView } = ArrayBuffer

type Search = (...args: unknown[]) => unknown

/**
 * The searches of buffers. Node hands on where one shall begin and end as it was told, or as the buffer says of itself, and
 * native code ends the process, that of the host in a thread, unless they are numbers.
 */
export const SEARCHES: Readonly<Record<string, Search>> = {
  indexOf: ending(Buffer.prototype.indexOf as Search),
  lastIndexOf: ending(Buffer.prototype.lastIndexOf as Search),
  includes: ending(Buffer.prototype.includes as Search),
}

function ending(search: Search): Search {
  return function searchToEnd(this: unknown, value: unknown, offset: unknown, end: unknown, encoding: unknown) {
    // Node says what is wrong with a buffer that is none.
    if (!isView(this)) return apply(search, this, [value])
    const isNumber = end !== undefined && typeof end !== 'string'
    return apply(search, sameBytes(this), [value, offset, isNumber ? +(end as number) : end, encoding])
  }
}
