import { Buffer } from 'node:buffer'

/** Smaller buffers are cheap to allocate. */
const SMALL_BYTES = 16 * 1024

interface SizeClass {
  readonly bytes: number
  readonly maxFree: number
  readonly free: Buffer[]
}
/** For one long string, and for a packet of many. */
const SIZE_CLASSES: readonly SizeClass[] = [
  { bytes: 256 * 1024, maxFree: 8, free: [] },
  { bytes: 2 * 1024 * 1024, maxFree: 4, free: [] },
]

/**
 * A buffer of at least this size for one frame, with old content in it: read only what was written. Without the pool, calls of
 * 100 KB in a process take 1.5 times the processor time, 64 abreast (decision 107): allocating a long buffer takes longer than
 * filling it, above all in a child process, which zeroes it first.
 */
export function takeBuffer(bytes: number): Buffer {
  const size = bytes > SMALL_BYTES ? SIZE_CLASSES.find((one) => bytes <= one.bytes) : undefined
  return size === undefined ? Buffer.allocUnsafe(bytes) : size.free.pop() ?? Buffer.allocUnsafeSlow(size.bytes)
}

export const isPooled = (frame: Buffer): boolean => sizeClassOf(frame) !== undefined

/** Contract: called once for each buffer, when nothing reads it any more. */
export function returnBuffer(frame: Buffer): void {
  const size = sizeClassOf(frame)
  if (size !== undefined && size.free.length < size.maxFree) size.free.push(Buffer.from(frame.buffer as ArrayBuffer))
}

const sizeClassOf = ({ buffer: { byteLength } }: Buffer): SizeClass | undefined =>
  SIZE_CLASSES.find(({ bytes }) => byteLength === bytes)
