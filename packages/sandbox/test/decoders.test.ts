import { StringDecoder as NodeStringDecoder } from 'node:string_decoder'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StringDecoder, TextDecoder } from '../src/worker/native-guards.ts'

/** Some decoders of Node throw for bytes that they should have replaced. */
function resultOf(decode: () => string): string | { readonly refused: unknown } {
  try {
    return decode()
  } catch (error) {
    return { refused: (error as { readonly code?: unknown }).code }
  }
}

const chunks = fc.array(fc.uint8Array({ maxLength: 6 }), { maxLength: 6 })

describe('decoders of a compartment', () => {
  it('return the same as those of Node', () => {
    const encoding = fc.constantFrom<BufferEncoding>('utf8', 'utf16le', 'base64', 'hex', 'latin1')
    fc.assert(fc.property(encoding, chunks, (name, given) => {
      const [ours, theirs] = [new StringDecoder(name), new NodeStringDecoder(name)]
      for (const bytes of given) expect(ours.write(bytes)).toBe(theirs.write(bytes as Buffer))
      expect(ours.end()).toBe(theirs.end())
    }))
    const label = fc.constantFrom('utf-8', 'utf-16le', 'shift_jis', 'latin1', 'gb18030')
    fc.assert(fc.property(label, chunks, (name, given) => {
      const [ours, theirs] = [new TextDecoder(name), new globalThis.TextDecoder(name)]
      for (const bytes of given) {
        expect(resultOf(() => ours.decode(bytes, { stream: true })))
          .toEqual(resultOf(() => theirs.decode(bytes, { stream: true })))
      }
      expect(resultOf(() => ours.decode())).toEqual(resultOf(() => theirs.decode()))
    }), { examples: [['gb18030', [Uint8Array.of(129, 48), Uint8Array.of(0)]]] })
  })

  it('have the same properties as those of Node', () => {
    const { encoding, fatal, ignoreBOM } = new TextDecoder('utf8', { fatal: true, ignoreBOM: true })
    expect([encoding, fatal, ignoreBOM]).toEqual(['utf-8', true, true])
    expect(new StringDecoder('UTF-8' as BufferEncoding).encoding).toBe('utf8')
    expect(Object.prototype.toString.call(new TextDecoder())).toBe('[object TextDecoder]')
  })

  it('throw the same errors as those of Node', () => {
    expect(() => new StringDecoder('runes' as BufferEncoding))
      .toThrow(expect.objectContaining({ code: 'ERR_UNKNOWN_ENCODING' }))
    expect(() => new TextDecoder('runes')).toThrow(RangeError)
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from([255]))).toThrow(TypeError)
  })

  it('expose no internal state', () => {
    expect(Reflect.ownKeys(new StringDecoder())).toEqual(['encoding'])
    expect(Reflect.ownKeys(new TextDecoder('shift_jis'))).toEqual([])
  })
})
