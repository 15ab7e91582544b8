import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FrameFault } from '../src/wire/frame.ts'
import { portTransport } from '../src/wire/port-transport.ts'
import type { Packet } from '../src/wire/transport.ts'
import { isHandover, TravellingRooms, type Handover } from '../src/wire/transferable-buffers.ts'

const ROOM_BYTES = 2 * 1024 * 1024
const long = (mark: string): Packet => ['[]', mark.repeat(100_000), mark.repeat(200_000)]

/** As a port does it: who hands over has nothing left. */
const handedOver = (handover: Handover | undefined): Handover => structuredClone(handover!, { transfer: [handover![0]] })

/** A room that comes back alone. */
const returned = (room: ArrayBuffer): ArrayBuffer => structuredClone(room, { transfer: [room] })

describe('rooms that travel with long packets', () => {
  it('bring every packet as it was, and are used again', () => {
    const [near, far] = [new TravellingRooms(), new TravellingRooms()]
    const seen = new Set<string>()
    for (const mark of 'abcdefgh') {
      const there = handedOver(near.pack(long(mark)))
      expect(far.unpack(there)).toEqual(long(mark))
      const back = handedOver(far.pack(long('z')))
      expect(near.unpack(back)).toEqual(long('z'))
      seen.add(Buffer.from(back[0], 0, 50_000).toString('latin1'))
    }
    // The same memory: only what was filled the last time stands in the place of what was there.
    expect(seen.size).toBe(1)
    expect([near.owed(), far.owed()]).toEqual([undefined, undefined])
  })

  it('that come back are filled again before one is made', () => {
    const rooms = new TravellingRooms()
    const [room] = rooms.pack(long('x'))!
    rooms.keep(room)
    expect(rooms.pack(long('y'))![0]).toBe(room)
  })

  it('are not filled with texts of which the last has no place any more', () => {
    expect(new TravellingRooms().pack(['x'.repeat(ROOM_BYTES - 8), 'y'])).toBeUndefined()
  })

  it('are not used for what is short, is not ASCII, or has no place in them', () => {
    const rooms = new TravellingRooms()
    for (const packet of ['[1]', ['[]', 'x'.repeat(100_000)], ['[]', 'ä'.repeat(300_000)], ['[]', `${'x'.repeat(300_000)}🛟`], ['[]', 'x'.repeat(ROOM_BYTES)]]) {
      expect(rooms.pack(packet)).toBeUndefined()
    }
    expect(new TravellingRooms().unpack(handedOver(rooms.pack(long('x'))))).toEqual(long('x'))
  })

  it('hold nothing of anybody else when they are made', () => {
    const [room, bytes] = new TravellingRooms().pack(long('x'))!
    expect(Buffer.from(room, bytes).every((byte) => byte === 0)).toBe(true)
  })

  it('are not made without end for a side that keeps them', () => {
    const rooms = new TravellingRooms()
    const packed = Array.from({ length: 20 }, () => rooms.pack(long('x')))
    expect(packed.filter((handover) => handover !== undefined)).toHaveLength(4)
  })

  it('go back when all that is long goes one way: with what is said, or by themselves', () => {
    const [tool, host] = [new TravellingRooms(), new TravellingRooms()]
    let cloned = 0
    let alone = 0
    for (let turn = 0; turn < 20; turn++) {
      for (const mark of ['a', 'b']) {
        const handover = tool.pack(long(mark))
        if (handover === undefined) cloned++
        else expect(host.unpack(handedOver(handover))).toEqual(long(mark))
        const owed = host.owed()
        if (owed === undefined) continue
        alone++
        const back = returned(owed)
        expect(tool.isAwaited(back)).toBe(true)
        tool.keep(back)
      }
      const question = host.pack('[1]')
      if (question !== undefined) expect(tool.unpack(handedOver(question))).toEqual(['[1]'])
    }
    expect(cloned).toBe(0)
    expect(alone).toBeGreaterThan(0)
  })

  it('that are owed go with whatever is said next, and by themselves once there are more than two', () => {
    for (const said of ['[1]', ['[1]', 'x']]) {
      const rooms = new TravellingRooms()
      rooms.keep(new ArrayBuffer(ROOM_BYTES))
      expect([rooms.pack(said), rooms.pack(said)]).toEqual([[expect.any(ArrayBuffer), expect.any(Number)], undefined])
    }
    const rooms = new TravellingRooms()
    const owed = [1, 2, 3].map(() => {
      rooms.keep(new ArrayBuffer(ROOM_BYTES))
      return rooms.owed()
    })
    expect(owed).toEqual([undefined, undefined, expect.any(ArrayBuffer)])
  })

  it('are not kept without end from a side that makes them', () => {
    const rooms = new TravellingRooms()
    for (let made = 0; made < 20; made++) rooms.keep(new ArrayBuffer(ROOM_BYTES))
    const kept = Array.from({ length: 20 }, () => rooms.owed())
    expect(kept.filter((room) => room !== undefined)).toHaveLength(4)
  })

  it('are told from everything else a stranger can send', () => {
    const room = () => new ArrayBuffer(ROOM_BYTES)
    const rooms = new TravellingRooms()
    expect(rooms.isAwaited(room())).toBe(false)
    rooms.pack(long('x'))
    expect(rooms.isAwaited(room())).toBe(true)
    const strange = [
      new ArrayBuffer(ROOM_BYTES, { maxByteLength: ROOM_BYTES * 2 }), new SharedArrayBuffer(ROOM_BYTES), new ArrayBuffer(ROOM_BYTES - 1),
      Object.assign(room(), { immutable: true }), new Uint8Array(ROOM_BYTES), Buffer.alloc(8), { byteLength: ROOM_BYTES }, null, undefined, 'room',
    ]
    for (const other of strange) expect([isHandover([other, 8]), rooms.isAwaited(other)]).toEqual([false, false])
    for (const bytes of [0, -1, 1.5, ROOM_BYTES + 1, Number.NaN, '8', null]) expect(isHandover([room(), bytes])).toBe(false)
    expect([isHandover([room()]), isHandover([room(), 8, 8]), isHandover({ 0: room(), 1: 8, length: 2 })]).toEqual([false, false, false])
    expect([isHandover([room(), 8]), isHandover([room(), ROOM_BYTES])]).toEqual([true, true])
  })

  it.each([1, 4, 8, 100, ROOM_BYTES])('that hold no frame of %d bytes are refused', (bytes) => {
    expect(() => new TravellingRooms().unpack([new ArrayBuffer(ROOM_BYTES), bytes])).toThrow(FrameFault)
  })
})

it('a port ends the conversation over a room that holds no frame', async () => {
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  const closed = Promise.withResolvers<Error | undefined>()
  portTransport(port1).listen({ packet: () => closed.reject(new Error('delivered')), closed: closed.resolve })
  const room = new ArrayBuffer(ROOM_BYTES)
  port2.postMessage([room, 9], [room])
  expect(await closed.promise).toBeInstanceOf(FrameFault)
})
