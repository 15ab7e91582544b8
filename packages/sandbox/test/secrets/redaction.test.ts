import { describe, expect, it } from 'vitest'
import { Redaction, REDACTED } from '../../src/main/broker/secrets/redaction.ts'

const SECRET = 'pa ss/w"ö+rd'

describe('taking values out of what comes back', () => {
  it.each([
    ['as it is', SECRET],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['taken for single bytes', Buffer.from(SECRET).toString('latin1')],
  ])('%s', (_, text) => {
    expect(new Redaction([SECRET]).text(`<${text}>`)).toBe(`<${REDACTED}>`)
  })

  it('as a header carried it', async () => {
    const bytes = Buffer.from(`<${SECRET}>`, 'latin1')
    const pieces: Buffer[] = []
    for await (const piece of new Redaction([SECRET]).pieces(chunks(bytes, 3))) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toBe(`<${REDACTED}>`)
    expect(pieces.every((piece) => piece.length > 0)).toBe(true)
  })

  it('of several, and leaves everything else', () => {
    const redaction = new Redaction(['first secret', 'second secret'])
    expect(redaction.text('first secret, third secret, second secret')).toBe(`${REDACTED}, third secret, ${REDACTED}`)
    expect(redaction.text('grüße 漢字 first secre')).toBe('grüße 漢字 first secre')
    expect(new Redaction([]).text('anything')).toBe('anything')
  })

  it('in no other encoding, which is not promised', () => {
    const encoded = Buffer.from(SECRET).toString('base64')
    expect(new Redaction([SECRET]).text(encoded)).toBe(encoded)
  })
})

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
