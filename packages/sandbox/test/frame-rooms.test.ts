import { expect, it } from 'vitest'
import { giveBack, isInRoom, ROOM_BYTES, takeRoom } from '../src/wire/frame-rooms.ts'

it('gives a room to one frame at a time, and again when it is given back', () => {
  const first = takeRoom(100_000)
  const second = takeRoom(100_000)
  expect(second.buffer).not.toBe(first.buffer)
  giveBack(first.subarray(0, 100_000))
  const third = takeRoom(ROOM_BYTES)
  expect(third.buffer).toBe(first.buffer)
  expect(third).toHaveLength(ROOM_BYTES)
})

it('keeps a few rooms, and nothing else', () => {
  const taken = new Set(Array.from({ length: 20 }, () => takeRoom(100_000)))
  for (const room of taken) giveBack(room)
  const again = Array.from({ length: 20 }, () => takeRoom(100_000))
  const buffers = new Set([...taken].map(({ buffer }) => buffer))
  expect(again.filter(({ buffer }) => buffers.has(buffer))).toHaveLength(4)
  for (const bytes of [100, ROOM_BYTES + 1]) {
    const other = takeRoom(bytes)
    expect(other).toHaveLength(bytes)
    expect(isInRoom(other)).toBe(false)
    giveBack(other)
    expect(takeRoom(100_000).buffer).not.toBe(other.buffer)
  }
})
