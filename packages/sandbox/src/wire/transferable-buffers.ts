import { Buffer } from 'node:buffer'
import { types } from 'node:util'
import { asciiBytes, readFrame, writeAscii } from './frame.ts'
import type { Packet } from './transport.ts'

/** Holds every packet but those of one text that is longer than packets become. */
const ROOM_BYTES = 2 * 1024 * 1024
/** From here on it costs less to fill a room and to hand it over. A shorter packet is cloned within memory that is at hand. */
const LONG_BYTES = 256 * 1024
/** More than this are not made here, nor kept. */
const MOST_ROOMS = 4
/** So many may be owed to the other side before one goes back by itself. */
const MOST_OWED = 2

/** A frame in a room that is handed over: its memory is the other thread's from then on. */
export type Handover = readonly [room: ArrayBuffer, bytes: number]

/** Taken now: what runs later in this thread may have put something else in its place. */
const { isArrayBuffer } = types
const Room = ArrayBuffer

/**
 * Memory that travels between two threads with their long packets. To have such a packet cloned is to have as much memory made and
 * thrown away for each, and the system gives and takes that page by page, which costs more than the copying. What else a room holds is
 * from earlier packets between these two, so whoever is given it has seen it before: never hand a room to anybody else.
 */
export class TravellingRooms {
  readonly #here: ArrayBuffer[] = []
  /** Handed over and not returned; below zero, rooms of the other side's making are here. */
  #away = 0

  /** undefined where it has to be cloned. */
  pack(packet: Packet): Handover | undefined {
    const owesNone = this.#away >= 0
    // Most of what is sent.
    if (owesNone && typeof packet === 'string') return undefined
    const texts = typeof packet === 'string' ? [packet] : packet
    const bytes = asciiBytes(texts)
    if (bytes > ROOM_BYTES || (owesNone && bytes < LONG_BYTES)) return undefined
    const room = this.#here.pop() ?? (this.#away < MOST_ROOMS ? new Room(ROOM_BYTES) : undefined)
    if (room === undefined) return undefined
    const written = writeAscii(Buffer.from(room), texts)
    if (written === undefined) {
      this.#here.push(room)
      return undefined
    }
    this.#away++
    return [room, written]
  }

  /** Contract: throws FrameFault where what was handed over is no frame. */
  unpack([room, bytes]: Handover): Packet {
    const packet = readFrame(Buffer.from(room, 0, bytes))
    this.keep(room)
    return packet
  }

  /** A room that has come back, or is of the other side's making. */
  keep(room: ArrayBuffer): void {
    this.#away--
    if (this.#here.length < MOST_ROOMS) this.#here.push(room)
  }

  /** One that the other side should have back although there is nothing to say. */
  owed(): ArrayBuffer | undefined {
    if (this.#away >= -MOST_OWED) return undefined
    this.#away++
    return this.#here.pop()
  }

  /** Whether a room that comes alone is one that was handed over. */
  isAwaited(message: unknown): message is ArrayBuffer {
    return this.#away > 0 && isRoom(message)
  }
}

/** The other side may be a stranger. What has been handed over cannot change any more. */
export function isHandover(message: unknown): message is Handover {
  if (!Array.isArray(message) || message.length !== 2 || !isRoom(message[0])) return false
  const bytes: unknown = message[1]
  return Number.isSafeInteger(bytes) && (bytes as number) > 0 && (bytes as number) <= ROOM_BYTES
}

/** One that can be written to and stays as large as it is. */
const isRoom = (value: unknown): value is ArrayBuffer =>
  isArrayBuffer(value) && value.byteLength === ROOM_BYTES && !value.resizable && (value as { immutable?: boolean }).immutable !== true
