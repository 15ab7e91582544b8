import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { listen } from '../../src/index.ts'

it('waits for a slow client again and again, without a listener for each time', LONG, async () => {
  const warnings: string[] = []
  const warned = ({ name }: Error) => void warnings.push(name)
  process.on('warning', warned)
  const chunk = new Uint8Array(1 << 20)
  let sent = 0
  const body = () => new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < 40) controller.enqueue(chunk)
      else controller.close()
    },
  })
  const { url, close } = await listen(async () => new Response(body()), { port: 0 })
  let bytes = 0
  for await (const part of (await fetch(url)).body!) bytes += part.length
  await close()
  process.off('warning', warned)
  expect({ bytes, warnings }).toEqual({ bytes: 40 << 20, warnings: [] })
})
