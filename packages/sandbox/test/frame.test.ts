import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { encodeFrame, FrameDecoder, FrameFault } from '../src/wire/frame.ts'
import type { Packet } from '../src/wire/protocol.ts'

const decode = (decoder: FrameDecoder, pieces: readonly Buffer[]): Packet[] => {
  const packets: Packet[] = []
  for (const piece of pieces) decoder.push(piece, (packet) => packets.push(packet))
  return packets
}

const bytes = (...numbers: readonly number[]): Buffer => Buffer.concat(numbers.map((number) => {
  const four = Buffer.alloc(4)
  four.writeUInt32LE(number)
  return four
}))
const SEVERAL = 0x8000_0000

it('decodes every packet, however the bytes are split into chunks', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 })
  const packet = fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 4 }))
  fc.assert(fc.property(fc.array(packet, { maxLength: 6 }), fc.array(fc.nat(200)), (packets, cuts) => {
    const whole = Buffer.concat(packets.map(encodeFrame))
    const at = [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])]
      .toSorted((a, b) => a - b)
    const pieces = at.slice(1).map((end, index) => whole.subarray(at[index], end))
    expect(decode(new FrameDecoder(1_000), pieces)).toEqual(packets)
  }))
})

it('decodes strings with multi-byte characters at any position', () => {
  const text = fc.tuple(
    fc.nat(40), fc.constantFrom('', '\x7f', '\x80', '\u00e9', '\u20ac', '\ufffd', '\u{1f600}', '\0'), fc.nat(5),
  )
    .map(([before, character, after]) => 'x'.repeat(before) + character + 'y'.repeat(after))
  fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
    expect(decode(new FrameDecoder(1_000), [encodeFrame(texts)])).toEqual([texts])
  }))
})

it('decodes any bytes that are declared as one-byte characters', () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const frame = Buffer.concat([bytes(4 + 256 + SEVERAL, 256 + SEVERAL), all])
  const [[text] = []] = decode(new FrameDecoder(1_000), [frame])
  expect(text).toBe(String.fromCharCode(...all))
  expect(text!.isWellFormed()).toBe(true)
})

it('does not hold on to the chunks it is given', () => {
  const frame = encodeFrame('abc')
  const decoder = new FrameDecoder(100)
  const chunk = Buffer.from(frame.subarray(0, 6))
  expect(decode(decoder, [chunk])).toEqual([])
  chunk.fill(0)
  expect(decode(decoder, [frame.subarray(6)])).toEqual(['abc'])
})

it('rejects a frame that is too large when it reads the header', () => {
  const why = 'A frame of 101 bytes is larger than the limit of 100 bytes.'
  expect(() => decode(new FrameDecoder(100), [bytes(101)])).toThrow(why)
  expect(() => decode(new FrameDecoder(100), [bytes(101).subarray(0, 3), bytes(101).subarray(3)])).toThrow(why)
  expect(() => decode(new FrameDecoder(100), [bytes(101 + SEVERAL)])).toThrow(why)
  expect(decode(new FrameDecoder(101), [encodeFrame('x'.repeat(101))])).toEqual(['x'.repeat(101)])
})

it('rejects a frame whose strings are longer than the frame', () => {
  const why = 'A string is longer than its frame.'
  expect(() => decode(new FrameDecoder(100), [bytes(4 + SEVERAL, 1)])).toThrow(why)
  expect(() => decode(new FrameDecoder(100), [bytes(8 + SEVERAL, 0xffff_ffff, 0)])).toThrow(why)
  expect(() => decode(new FrameDecoder(100), [bytes(8 + SEVERAL, 5 + SEVERAL, 0)])).toThrow(why)
  expect(
    () => decode(new FrameDecoder(100), [bytes(8 + SEVERAL, 2, 0).subarray(0, 6), bytes(8 + SEVERAL, 2, 0)
      .subarray(6)]),
  ).toThrow(why)
  expect(() => decode(new FrameDecoder(100), [Buffer.concat([bytes(2 + SEVERAL), Buffer.alloc(2)])])).toThrow(why)
})

it('returns well-formed strings for any bytes, or throws its own error', () => {
  const header = fc.oneof(
    fc.nat(40), fc.nat(40).map((length) => length + SEVERAL), fc.integer({ min: 0, max: 0xffff_ffff }),
  )
  const piece = fc.oneof(
    header.map((number) => bytes(number)), fc.uint8Array({ maxLength: 40 }).map((some) => Buffer.from(some)),
  )
  fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
    try {
      for (const text of decode(new FrameDecoder(100), pieces).flat()) expect(text.isWellFormed()).toBe(true)
    } catch (error) {
      expect(error).toBeInstanceOf(FrameFault)
    }
  }), { numRuns: thoroughly(400, 2_000) })
})

it('leaks nothing of earlier frames through a pooled buffer', () => {
  const decoder = new FrameDecoder(1_000_000)
  for (const texts of [
    ['a'.repeat(100_000), 'b'.repeat(50_000)], ['c'.repeat(20_000)], ['\u20ac'.repeat(40_000), ''],
  ]) {
    const frame = encodeFrame(texts)
    expect(decode(decoder, [frame.subarray(0, 1_000), frame.subarray(1_000)])).toEqual([texts])
  }
})

it('uses the memory of one frame for a frame in many small chunks', LONG, () => {
  const text = 'y'.repeat(4 * 1024 * 1024)
  const frame = encodeFrame(text)
  const decoder = new FrameDecoder(frame.length)
  const packets: Packet[] = []
  const before = process.memoryUsage().arrayBuffers
  for (let at = 0; at < frame.length; at += 16) {
    decoder.push(frame.subarray(at, at + 16), (packet) => packets.push(packet))
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * frame.length)
  expect(packets).toEqual([text])
})
