import { describe, expect, it } from 'vitest'
import { LARGE_PAYLOAD_BYTES, largePayload, payload, PAYLOAD_BYTES } from '../src/loads/echo.ts'

describe('payload', () => {
  it.each([
    [PAYLOAD_BYTES, payload], [LARGE_PAYLOAD_BYTES, largePayload],
  ])('has %i bytes in every call, and differs between calls', (bytes, payloadOf) => {
    const texts = Array.from({ length: 64 }, (_, i) => payloadOf(1000 + i).text)
    for (const text of texts) expect(Buffer.byteLength(text)).toBe(bytes)
    expect(new Set(texts).size).toBe(64)
  })
})
