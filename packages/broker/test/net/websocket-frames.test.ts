import { expect, it } from 'vitest'
import { redactFrames } from '../../src/net/keys/websocket-frames.ts'
import { Redaction, SearchTerm } from '../../src/secrets/redaction.ts'

const SECRET = 'password'
const redaction = new Redaction([new SearchTerm(Buffer.from(SECRET), () => true)])
const CLOSE = 0x88

async function redacted(...chunks: readonly Buffer[]): Promise<Buffer> {
  const frames: Buffer[] = []
  for await (const frame of redactFrames((async function* send() { yield* chunks })(), redaction)) frames.push(frame)
  return Buffer.concat(frames)
}

it('a control frame that becomes longer is cut where its protocol ends it', async () => {
  const payload = Buffer.from(SECRET.repeat(15))
  const frame = await redacted(Buffer.concat([Buffer.from([CLOSE, payload.length]), payload]))
  expect([...frame.subarray(0, 2)]).toEqual([CLOSE, 125])
  expect(frame.subarray(2).toString()).toBe('[REDACTED]'.repeat(13).slice(0, 125))
})

it.each([
  ['a control frame that is too long', [CLOSE, 126, 0, 1, 0]], ['a control frame in several parts', [0x08, 0]],
  ['a compressed frame', [0xc1, 0]], ['a masked frame', [0x81, 0x80]],
])('%s is refused, because it cannot be searched', async (_, bytes) => {
  await expect(redacted(Buffer.from(bytes))).rejects.toThrow('compressed or malformed')
})
