import { expect, it } from 'vitest'
import { giveBack, isInRoom, takeRoom } from '../src/wire/buffer-pool.ts'

const SIZES = [[256 * 1024, 8], [2 * 1024 * 1024, 4]] as const

it.each(SIZES)('gives a room of %i bytes to one frame at a time, and again when it is given back', (bytes) => {
  const first = takeRoom(bytes - 1_000)
  const second = takeRoom(bytes - 1_000)
  expect(second.buffer).not.toBe(first.buffer)
  giveBack(first.subarray(0, bytes - 1_000))
  const third = takeRoom(bytes)
  expect(third.buffer).toBe(first.buffer)
  expect(third).toHaveLength(bytes)
})

it.each(SIZES)('keeps a few rooms of %i bytes', (bytes, most) => {
  const taken = Array.from({ length: 20 }, () => takeRoom(bytes))
  for (const room of taken) giveBack(room)
  const buffers = new Set(taken.map(({ buffer }) => buffer))
  const again = Array.from({ length: 20 }, () => takeRoom(bytes))
  expect(new Set(again.map(({ buffer }) => buffer)).size).toBe(20)
  expect(again.filter(({ buffer }) => buffers.has(buffer))).toHaveLength(most)
})

it.each([100, 2 * 1024 * 1024 + 1])('keeps nothing of a frame of %i bytes', (bytes) => {
  const frame = takeRoom(bytes)
  expect(frame).toHaveLength(bytes)
  expect(isInRoom(frame)).toBe(false)
  giveBack(frame)
  expect(takeRoom(100_000).buffer).not.toBe(frame.buffer)
})
