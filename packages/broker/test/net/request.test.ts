import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readRequest } from '../../src/net/request.ts'
import { callOf, codeOf, fetchRaw, newNet, reach, serve, serveRaw } from './loopback.ts'

const LINE = '\r\n'

describe('what a tool sends', () => {
  const refused: Readonly<Record<string, JsonObject>> = {
    'the host': { headers: { Host: 'evil.test' } },
    'the host in odd case': { headers: { hOsT: 'evil.test' } },
    'the connection': { headers: { connection: 'keep-alive, x' } },
    'a length': { method: 'POST', headers: { 'Content-Length': '0' }, body: { kind: 'text', content: 'GET / HTTP/1.1' } },
    'a transfer coding': { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' } },
    'an upgrade': { headers: { upgrade: 'websocket' } },
    'an expectation': { headers: { expect: '100-continue' } },
    'a trailer': { headers: { trailer: 'x' } },
    'te': { headers: { te: 'trailers' } },
    'keep-alive': { headers: { 'keep-alive': 'timeout=1000' } },
    'credentials of a proxy': { headers: { 'proxy-authorization': 'x' } },
    'proxy-connection': { headers: { 'Proxy-Connection': 'x' } },
    'a way it came': { headers: { via: '1.1 evil.test' } },
    'settings of HTTP/2': { headers: { 'http2-settings': 'x' } },
    'a line break in a value': { headers: { 'x-a': `1${LINE}host: evil.test` } },
    'a bare line feed': { headers: { 'x-a': '1\nhost: evil.test' } },
    'a carriage return': { headers: { 'x-a': '1\r' } },
    'a NUL in a value': { headers: { 'x-a': '1\0' } },
    'a character above ÿ': { headers: { 'x-a': '\u010a' } },
    'a line break in a name': { headers: { [`x-a${LINE}host`]: 'evil.test' } },
    'a colon in a name': { headers: { 'host:': 'evil.test' } },
    'a space in a name': { headers: { 'host ': 'evil.test' } },
    'a name of HTTP/2': { headers: { ':authority': 'evil.test' } },
    'an empty name': { headers: { '': 'x' } },
    'a header twice in two cases': { headers: { 'X-A': '1', 'x-a': '2' } },
    'a header that is a list': { headers: { 'x-a': ['1', '2'] } },
    'a header that is a number': { headers: { 'x-a': 1 } },
    'headers that are a list': { headers: [['x-a', '1']] },
    'too many headers': { headers: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, ''])) },
    'too much in headers': { headers: { 'x-a': 'x'.repeat(16 * 1024 - 2) } },
    'CONNECT': { method: 'CONNECT' },
    'TRACE': { method: 'trace' },
    'a method of its own': { method: 'GET / HTTP/1.1\r\nhost: evil.test\r\n\r\nGET' },
    'a method that is an object': { method: { toString: 'GET' } },
    'a body with GET': { body: { kind: 'text', content: 'x' } },
    'a body with HEAD': { method: 'HEAD', body: { kind: 'text', content: 'x' } },
    'a body that is too large': { method: 'POST', body: { kind: 'text', content: 'x'.repeat(1_001) } },
    'a body of no kind': { method: 'POST', body: 'x' },
    'another way to redirect': { redirect: 'error' },
    'an unknown option': { dispatcher: {} },
    'a list for a request': [] as unknown as JsonObject,
  }

  it.each(Object.entries(refused))('is refused with %s', async (_name, request) => {
    const server = await serve((_request, response) => response.end())
    const net = newNet({ limits: { requestBytes: 1_000 } })
    expect(await codeOf(fetchRaw(net, callOf([server.place]), `${server.base}/`, request))).toBe('InputInvalid')
    expect(server.sockets).toHaveLength(0)
  })

  it('may be as much as its limits allow, by any of its methods', () => {
    const names = Array.from({ length: 63 }, (_, index) => `x-${String(index).padStart(2, '0')}`)
    const long = 'x'.repeat(16 * 1024 - 63 * 5 - 'x-long'.length)
    const headers = { ...Object.fromEntries(names.map((name) => [name, '1'])), 'x-long': long }
    const body = { kind: 'text', content: 'x'.repeat(1_000) }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const read = readRequest({ method, headers, body }, 1_000)
      expect([read.method, read.headers.get('x-long'), read.body?.length]).toEqual([method, long, 1_000])
    }
    expect(() => readRequest({ headers: { ...headers, 'x-65': '' } }, 1_000)).toThrow('more than 64 headers')
  })

  it('has no white space around its headers, and nothing where nothing is given', () => {
    expect(readRequest({ headers: { 'X-A': ' 1\t' } }, 0).headers.get('x-a')).toBe('1')
    expect(readRequest({ headers: null, body: null }, 0)).toEqual(readRequest(undefined, 0))
    expect(readRequest(undefined, 0)).toMatchObject({ method: 'GET', body: null, follow: true })
  })

  it('is one request on the wire, whatever is in path, headers and body', async () => {
    const wire = Promise.withResolvers<string>()
    const { port } = await serveRaw((socket) => {
      let text = ''
      socket.setEncoding('latin1').on('data', (piece: string) => {
        text += piece
        if (!text.endsWith('END')) return
        wire.resolve(text)
        socket.end(['HTTP/1.1 200 OK', 'content-length: 0', '', ''].join(LINE))
      })
    })
    const smuggled = `0${LINE}${LINE}GET /evil HTTP/1.1${LINE}host: evil.test${LINE}${LINE}END`
    const net = reach(newNet(), callOf([`127.0.0.1:${port}`]))
    const headers = { 'x-a': '1, 2\t; host: evil.test' }
    await net.fetch(`http://127.0.0.1:${port}/%0d%0ahost:%20evil.test?a=%0d%0a`, { method: 'POST', headers, body: smuggled })
    const [head = '', body] = (await wire.promise).split(`${LINE}${LINE}GET`)[0]!.split(/\r\n\r\n(?=0)/)
    expect(head.split(LINE).toSorted()).toEqual([
      'POST /%0d%0ahost:%20evil.test?a=%0d%0a HTTP/1.1', `host: 127.0.0.1:${port}`, 'connection: keep-alive', 'accept: */*',
      'accept-encoding: gzip, br, zstd',
      'user-agent: bulkhead', 'content-type: text/plain;charset=UTF-8', 'x-a: 1, 2\t; host: evil.test',
      `content-length: ${smuggled.length}`,
    ].toSorted())
    expect(body).toBe('0')
  })

  it('asks for a part of something as it is', async () => {
    const server = await serve((_request, response) => response.end())
    await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`, { headers: { Range: 'bytes=0-9' } })
    expect(server.requests[0]!.headers).toMatchObject({ range: 'bytes=0-9', 'accept-encoding': 'identity' })
  })
})
