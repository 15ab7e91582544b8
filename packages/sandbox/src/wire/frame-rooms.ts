import { Buffer } from 'node:buffer'

/** Below this, fresh memory costs little; above the other, frames are rare. */
const SHORT_BYTES = 16 * 1024
export const ROOM_BYTES = 2 * 1024 * 1024
/** As many wait for the next frame, whoever sends or receives it. */
const FREE_ROOMS = 4

const free: Buffer[] = []

/**
 * Memory for one frame, at least of that size, with whatever was in it before. Fresh memory for a long frame costs more than to
 * fill it, above all in a hull, where all of it is set to zero first.
 */
export function takeRoom(bytes: number): Buffer {
  if (bytes <= SHORT_BYTES || bytes > ROOM_BYTES) return Buffer.allocUnsafe(bytes)
  return free.pop() ?? Buffer.allocUnsafeSlow(ROOM_BYTES)
}

/** Whether all of a frame lies in a room that another can have after it. */
export const isInRoom = (frame: Buffer): boolean => frame.buffer.byteLength === ROOM_BYTES

/** Contract: called once for a room, when nobody looks at that frame any more. */
export function giveBack(frame: Buffer): void {
  if (isInRoom(frame) && free.length < FREE_ROOMS) free.push(Buffer.from(frame.buffer as ArrayBuffer))
}
