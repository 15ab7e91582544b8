import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { invocation, newSandbox, REMOTE, requestOf, running, toolOf } from '../fixture.ts'
import { closed, codeOf, refusal, errorWith, serve } from '../../../broker/test/net/loopback.ts'

describe.each(REMOTE)('a tool in a %s', (placement) => {
  const open = async (hosts: readonly string[], body: string) => {
    const tools = [toolOf('run', { net: { hosts } } as unknown as JsonObject)]
    return newSandbox().open(requestOf({ placement, source: running(body), tools }))
  }

  it('fetches from the hosts of its grant only', async () => {
    const server = await serve((request, response) => request.pipe(response))
    const other = await serve((_request, response) => response.end())
    const session = await open([server.place], `
      const bytes = new Uint8Array(300_000).fill(7)
      const response = await runtime.net.fetch(args.url, { method: 'POST', body: bytes })
      let length = 0
      for await (const piece of response.body) length += piece.length
      return { status: response.status, length }
    `)
    const call = (url: string): Promise<Json> => session.call(invocation({ url }))
    expect(await call(`${server.base}/`)).toEqual({ status: 200, length: 300_000 })
    expect(await refusal(call(`${other.base}/`)))
      .toMatchObject(errorWith('CapabilityDenied', 'The tool may not reach the host'))
    expect(await codeOf(call(`http://localhost:${server.port}/`))).toBe('CapabilityDenied')
    expect(other.sockets).toHaveLength(0)
  })

  it('has no connection after its call has ended, even with an unread body', async () => {
    const server = await serve((_request, response) => response.write('first'))
    const session = await open([server.place], `
      const response = await runtime.net.fetch(args.url)
      return response.status
    `)
    expect(await session.call(invocation({ url: `${server.base}/` }))).toBe(200)
    await closed(server.sockets[0]!)
  })

  it('has no connection after its call was cancelled while it read a body', async () => {
    const server = await serve((_request, response) => response.write('first'))
    const session = await open([server.place], `
      const response = await runtime.net.fetch(args.url)
      for await (const piece of response.body) runtime.progress('read')
    `)
    const [stop, reading] = [new AbortController(), Promise.withResolvers<void>()]
    const call = session.call(
      invocation({ url: `${server.base}/` }, { signal: stop.signal, onProgress: () => reading.resolve() }),
    )
    await reading.promise
    const gone = closed(server.sockets[0]!)
    stop.abort(new BulkheadError('ToolCancelled', 'Enough.'))
    expect((await refusal(call)).message).toBe('Enough.')
    await gone
  })

  it('has no connection after its compartment was closed', async () => {
    const server = await serve((_request, response) => response.write('first'))
    const session = await open([server.place], `
      const response = await runtime.net.fetch(args.url)
      for await (const piece of response.body) runtime.progress('read')
    `)
    const reading = Promise.withResolvers<void>()
    const call = codeOf(session.call(invocation({ url: `${server.base}/` }, { onProgress: () => reading.resolve() })))
    await reading.promise
    const gone = closed(server.sockets[0]!)
    await session.close()
    await gone
    expect(await call).toBe('CompartmentKilled')
  })
})
