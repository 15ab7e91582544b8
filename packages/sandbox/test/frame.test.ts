import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encodeFrame, FrameDecoder } from '../src/wire/frame.ts'

const decode = (decoder: FrameDecoder, pieces: readonly Buffer[]): string[] => {
  const packets: string[] = []
  for (const piece of pieces) decoder.push(piece, (packet) => packets.push(packet))
  return packets
}

it('gives back every packet, however the bytes are cut', () => {
  const anyTexts = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 6 })
  fc.assert(fc.property(anyTexts, fc.array(fc.nat(200)), (texts, cuts) => {
    const bytes = Buffer.concat(texts.map(encodeFrame))
    const at = [...new Set([0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length])].toSorted((a, b) => a - b)
    const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
    expect(decode(new FrameDecoder(1_000), pieces)).toEqual(texts)
  }))
})

it('refuses a frame by its header, before any of it has come', () => {
  const header = Buffer.alloc(4)
  header.writeUInt32LE(101)
  expect(() => decode(new FrameDecoder(100), [header])).toThrow('A frame of 101 bytes was announced; at most 100 are taken.')
  expect(decode(new FrameDecoder(101), [encodeFrame('x'.repeat(101))])).toEqual(['x'.repeat(101)])
})

it('holds one frame of memory for a frame in many small pieces', () => {
  const text = 'y'.repeat(4 * 1024 * 1024)
  const bytes = encodeFrame(text)
  const decoder = new FrameDecoder(bytes.length)
  const packets: string[] = []
  const before = process.memoryUsage().arrayBuffers
  for (let at = 0; at < bytes.length; at += 16) decoder.push(bytes.subarray(at, at + 16), (packet) => packets.push(packet))
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * bytes.length)
  expect(packets).toEqual([text])
})
