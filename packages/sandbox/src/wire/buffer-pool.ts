import { Buffer } from 'node:buffer'

/** Below this, fresh memory costs little. */
const SHORT_BYTES = 16 * 1024

/** Rooms of one size. So many wait for the next frame, whoever sends or receives it. */
interface Rooms {
  readonly bytes: number
  readonly most: number
  readonly free: Buffer[]
}
/** Of two sizes: for one long text, and for a packet of many. */
const SIZES: readonly Rooms[] = [
  { bytes: 256 * 1024, most: 8, free: [] },
  { bytes: 2 * 1024 * 1024, most: 4, free: [] },
]

/**
 * Memory for one frame, at least of that size, with whatever was in it before: only what was filled may be looked at. Fresh
 * memory for a long frame costs more than to fill it, above all in a hull, where all of it is set to zero first.
 */
export function takeRoom(bytes: number): Buffer {
  const rooms = bytes > SHORT_BYTES ? SIZES.find((size) => bytes <= size.bytes) : undefined
  return rooms === undefined ? Buffer.allocUnsafe(bytes) : rooms.free.pop() ?? Buffer.allocUnsafeSlow(rooms.bytes)
}

/** Whether a frame lies in a room that another can have after it. */
export const isInRoom = (frame: Buffer): boolean => roomsOf(frame) !== undefined

/** Contract: called once for a room, when nobody looks at that frame any more. */
export function giveBack(frame: Buffer): void {
  const rooms = roomsOf(frame)
  if (rooms !== undefined && rooms.free.length < rooms.most) rooms.free.push(Buffer.from(frame.buffer as ArrayBuffer))
}

const roomsOf = ({ buffer: { byteLength } }: Buffer): Rooms | undefined => SIZES.find(({ bytes }) => byteLength === bytes)
