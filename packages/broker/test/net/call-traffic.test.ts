import type { Socket } from 'node:net'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { callOf, closed, codeOf, fetchRaw, newNet, reach, readRaw, refusal, serve, serveRaw } from './loopback.ts'

const reason = new BulkheadError('TurnCancelled', 'The turn was cancelled.')

/** A server that starts a body and does not finish it. */
const begun = () => serve((_request, response) => response.write('first'))

describe('the end of a call', () => {
  it('fails a pending read and closes its connection', async () => {
    const server = await begun()
    const [net, call] = [newNet(), callOf([server.place])]
    const { bodyId } = await fetchRaw(net, call, `${server.base}/`)
    await readRaw(net, call, bodyId!)
    const waiting = codeOf(readRaw(net, call, bodyId!))
    const gone = closed(server.sockets[0]!)
    net.endCall(call.callId)
    expect(await waiting).toBe('ToolCancelled')
    await gone
  })

  it('by an abort rejects the read with its reason and disconnects from the server', async () => {
    const server = await begun()
    const stop = new AbortController()
    const [net, call] = [newNet(), callOf([server.place], stop.signal)]
    const { bodyId } = await fetchRaw(net, call, `${server.base}/`)
    await readRaw(net, call, bodyId!)
    const waiting = refusal(readRaw(net, call, bodyId!))
    const gone = closed(server.sockets[0]!)
    stop.abort(reason)
    expect(await waiting).toBe(reason)
    await gone
    expect(await codeOf(fetchRaw(net, call, `${server.base}/`))).toBe('TurnCancelled')
  })

  it('closes the connections of unread bodies', async () => {
    const server = await serve((_request, response) => response.write(Buffer.alloc(10 * 1024 * 1024)))
    const [net, call] = [newNet(), callOf([server.place])]
    for (let count = 0; count < 3; count++) await fetchRaw(net, call, `${server.base}/`)
    const gone = Promise.all(server.sockets.map(closed))
    net.endCall(call.callId)
    expect(await gone).toHaveLength(3)
  })

  it('fails a fetch that waits for headers and closes its connection', async () => {
    const came = Promise.withResolvers<Socket>()
    const server = await serve((request) => came.resolve(request.socket))
    const stop = new AbortController()
    const [net, call] = [newNet(), callOf([server.place], stop.signal)]
    const waiting = refusal(fetchRaw(net, call, `${server.base}/`))
    const gone = closed(await came.promise)
    stop.abort(reason)
    expect(await waiting).toBe(reason)
    await gone
  })

  it('fails a fetch that is sending its body and closes its connection', async () => {
    const came = Promise.withResolvers<Socket>()
    const { port } = await serveRaw((socket) => came.resolve(socket.pause()))
    const [net, call] = [newNet(), callOf([`127.0.0.1:${port}`])]
    const body = { kind: 'text', content: 'x'.repeat(8 * 1024 * 1024) }
    const waiting = codeOf(fetchRaw(net, call, `http://127.0.0.1:${port}/`, { method: 'POST', body }))
    const socket = await came.promise
    net.endCall(call.callId)
    expect(await waiting).toBe('ToolCancelled')
    const gone = closed(socket)
    socket.resume()
    await gone
  })

  it('fails a fetch during a DNS lookup and does not connect afterwards', async () => {
    const server = await serve((_request, response) => response.end())
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string[]>()]
    const net = newNet({ lookup: () => (asked.resolve(), answer.promise) })
    const call = callOf([`a.test:${server.port}`, server.place])
    const waiting = codeOf(fetchRaw(net, call, `http://a.test:${server.port}/`))
    await asked.promise
    net.endCall(call.callId)
    expect(await waiting).toBe('ToolCancelled')
    answer.resolve(['127.0.0.1'])
    // A request of another call arrives after anything that the lookup could have started.
    await (await reach(net, callOf([server.place])).fetch(`${server.base}/other`)).text()
    expect(server.seen).toEqual(['GET /other'])
    expect(server.sockets).toHaveLength(1)
  })

  it('closes idle connections', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const [net, call] = [newNet(), callOf([server.place])]
    await (await reach(net, call).fetch(`${server.base}/`)).text()
    const gone = closed(server.sockets[0]!)
    net.endCall(call.callId)
    await gone
  })

  it('does not affect other calls', async () => {
    const server = await begun()
    const net = newNet()
    const [first, second] = [callOf([server.place]), callOf([server.place])]
    await fetchRaw(net, first, `${server.base}/`)
    const { bodyId } = await fetchRaw(net, second, `${server.base}/`)
    net.endCall(first.callId)
    net.endCall(first.callId)
    net.endCall('unknown')
    expect(await readRaw(net, second, bodyId!)).toBe(Buffer.from('first').toString('base64'))
  })

  it('removes its listener from the signal of the call', async () => {
    const server = await begun()
    const signals = new Set<unknown>()
    const { signal } = new AbortController()
    const watched = Object.create(signal, {
      aborted: { value: false },
      addEventListener: { value: (_type: string, listener: unknown) => void signals.add(listener) },
      removeEventListener: { value: (_type: string, listener: unknown) => void signals.delete(listener) },
    }) as AbortSignal
    const [net, call] = [newNet(), callOf([server.place], watched)]
    await fetchRaw(net, call, `${server.base}/`)
    expect(signals.size).toBe(1)
    net.endCall(call.callId)
    expect(signals.size).toBe(0)
  })
})

describe('the end of a compartment', () => {
  it('ends every call and resolves when no socket is left', async () => {
    const server = await begun()
    const net = newNet()
    const calls = Array.from({ length: 4 }, () => callOf([server.place]))
    const bodies = await Promise.all(calls.map((call) => fetchRaw(net, call, `${server.base}/`)))
    await Promise.all(calls.map((call, index) => readRaw(net, call, bodies[index]!['bodyId']!)))
    const waiting = calls.map((call, index) => codeOf(readRaw(net, call, bodies[index]!['bodyId']!)))
    const before = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    const gone = Promise.all(server.sockets.map(closed))
    await net.close()
    expect(process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length)
      .toBeLessThanOrEqual(before - 4)
    expect(await Promise.all(waiting)).toEqual(['ToolCancelled', 'ToolCancelled', 'ToolCancelled', 'ToolCancelled'])
    await gone
  })

  it('ends a fetch that waits for a DNS lookup', async () => {
    const net = newNet({ lookup: () => new Promise(() => undefined) })
    const waiting = codeOf(fetchRaw(net, callOf(['a.test']), 'http://a.test/'))
    await net.close()
    expect(await waiting).toBe('ToolCancelled')
    await net.close()
  })

  it('rejects new requests', async () => {
    const server = await begun()
    const net = newNet()
    await net.close()
    expect(await codeOf(fetchRaw(net, callOf([server.place]), `${server.base}/`))).toBe('ToolCancelled')
    expect(server.sockets).toHaveLength(0)
  })

  it('keeps only a few connections to many hosts for reuse', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const net = newNet({ lookup: async () => ['127.0.0.1'], limits: { requestsPerCall: 4 } })
    const hosts = Array.from({ length: 30 }, (_, index) => `h${index}.test:${server.port}`)
    const tool = reach(net, callOf([...hosts, server.place]))
    for (const host of hosts) await (await tool.fetch(`http://${host}/`)).text()
    expect(server.sockets).toHaveLength(30)
    expect(server.requests.filter(({ headers }) => headers.connection === 'keep-alive').length).toBeLessThanOrEqual(8)
  })
})
