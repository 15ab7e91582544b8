import { expect, it } from 'vitest'
import { byteSize, parseByteSize } from '../src/validation/size.ts'

it.each<[number | string, number]>([[1, 1], ['1', 1], ['7B', 7], ['200KB', 204_800], ['2MB', 2_097_152],
  [4096, 4096]])('%j is %d bytes', (size, bytes) => {
  expect(parseByteSize(byteSize.parse(size))).toBe(bytes)
})

it.each([0, -1, 1.5, '', '0', '0KB', '1.5KB', '1 KB', '1kb', '1GB', 'KB', '-1KB', '1KB\n', '12345678901', '1e3', Number.NaN,
  null])('%j is no size', (size) => {
  expect(byteSize.safeParse(size).success).toBe(false)
})
