import { describe, expect, it } from 'vitest'
import { payload, PAYLOAD_BYTES } from '../src/sides/payload.ts'

describe('payload', () => {
  it('has its bytes in every call, and differs from call to call', () => {
    const texts = Array.from({ length: 64 }, (_, i) => payload(1000 + i).text)
    for (const text of texts) expect(Buffer.byteLength(text)).toBe(PAYLOAD_BYTES)
    expect(new Set(texts).size).toBe(64)
  })
})
