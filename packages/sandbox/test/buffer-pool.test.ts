import { expect, it } from 'vitest'
import { returnBuffer, isPooled, takeBuffer } from '../src/wire/frame.ts'

const SIZES = [[256 * 1024, 8], [2 * 1024 * 1024, 4]] as const

it.each(SIZES)('lends a buffer of %i bytes to one frame at a time, and again after it is returned', (bytes) => {
  const first = takeBuffer(bytes - 1_000)
  const second = takeBuffer(bytes - 1_000)
  expect(second.buffer).not.toBe(first.buffer)
  returnBuffer(first.subarray(0, bytes - 1_000))
  const third = takeBuffer(bytes)
  expect(third.buffer).toBe(first.buffer)
  expect(third).toHaveLength(bytes)
})

it.each(SIZES)('keeps a few free buffers of %i bytes', (bytes, most) => {
  const taken = Array.from({ length: 20 }, () => takeBuffer(bytes))
  for (const buffer of taken) returnBuffer(buffer)
  const buffers = new Set(taken.map(({ buffer }) => buffer))
  const again = Array.from({ length: 20 }, () => takeBuffer(bytes))
  expect(new Set(again.map(({ buffer }) => buffer)).size).toBe(20)
  expect(again.filter(({ buffer }) => buffers.has(buffer))).toHaveLength(most)
})

it.each([100, 2 * 1024 * 1024 + 1])('does not pool a frame of %i bytes', (bytes) => {
  const frame = takeBuffer(bytes)
  expect(frame).toHaveLength(bytes)
  expect(isPooled(frame)).toBe(false)
  returnBuffer(frame)
  expect(takeBuffer(100_000).buffer).not.toBe(frame.buffer)
})
