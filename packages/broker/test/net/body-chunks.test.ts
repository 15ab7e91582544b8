import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { NET_LIMITS as limits } from '../../src/net/limits.ts'
import { DecoderMemory, ResponseBody } from '../../src/net/response-body.ts'

it('a body is passed on in chunks of at most 64 KB, however much has arrived', async () => {
  const source = new Readable({ read: () => undefined })
  source.push(Buffer.alloc(150_000))
  source.push(null)
  const body = new ResponseBody({
    host: 'a.test', source, decoder: undefined, decoders: new DecoderMemory(0), limits, released: () => undefined,
  })
  const sizes: (number | undefined)[] = []
  for (let count = 0; count < 4; count++) sizes.push((await body.read())?.length)
  expect(sizes).toEqual([65_536, 65_536, 18_928, undefined])
})
