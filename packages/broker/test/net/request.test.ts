import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { readRequest } from '../../src/net/request.ts'
import { callOf, codeOf, fetchRaw, newNet, reach, serve, serveRaw } from './loopback.ts'

const LINE = '\r\n'

describe('a request of a tool', () => {
  const refused: Readonly<Record<string, JsonObject>> = {
    'the host header': { headers: { Host: 'evil.test' } },
    'the host header in mixed case': { headers: { hOsT: 'evil.test' } },
    'a connection header': { headers: { connection: 'keep-alive, x' } },
    'a content-length': {
      method: 'POST', headers: { 'Content-Length': '0' }, body: { kind: 'text', content: 'GET / HTTP/1.1' },
    },
    'a transfer encoding': { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' } },
    'an upgrade': { headers: { upgrade: 'websocket' } },
    'an expect header': { headers: { expect: '100-continue' } },
    'a trailer': { headers: { trailer: 'x' } },
    'te': { headers: { te: 'trailers' } },
    'keep-alive': { headers: { 'keep-alive': 'timeout=1000' } },
    'proxy credentials': { headers: { 'proxy-authorization': 'x' } },
    'proxy-connection': { headers: { 'Proxy-Connection': 'x' } },
    'a via header': { headers: { via: '1.1 evil.test' } },
    'HTTP/2 settings': { headers: { 'http2-settings': 'x' } },
    'a line break in a value': { headers: { 'x-a': `1${LINE}host: evil.test` } },
    'a bare line feed': { headers: { 'x-a': '1\nhost: evil.test' } },
    'a carriage return': { headers: { 'x-a': '1\r' } },
    'a NUL in a value': { headers: { 'x-a': '1\0' } },
    'a character outside Latin-1': { headers: { 'x-a': '\u010a' } },
    'a line break in a name': { headers: { [`x-a${LINE}host`]: 'evil.test' } },
    'a colon in a name': { headers: { 'host:': 'evil.test' } },
    'a space in a name': { headers: { 'host ': 'evil.test' } },
    'an HTTP/2 pseudo header': { headers: { ':authority': 'evil.test' } },
    'an empty name': { headers: { '': 'x' } },
    'a header twice in two cases': { headers: { 'X-A': '1', 'x-a': '2' } },
    'a header that is an array': { headers: { 'x-a': ['1', '2'] } },
    'a header that is a number': { headers: { 'x-a': 1 } },
    'headers that are an array': { headers: [['x-a', '1']] },
    'too many headers': { headers: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, ''])) },
    'too many characters in headers': { headers: { 'x-a': 'x'.repeat(16 * 1024 - 2) } },
    'CONNECT': { method: 'CONNECT' },
    'TRACE': { method: 'trace' },
    'a method with line breaks': { method: 'GET / HTTP/1.1\r\nhost: evil.test\r\n\r\nGET' },
    'a method that is an object': { method: { toString: 'GET' } },
    'a body with GET': { body: { kind: 'text', content: 'x' } },
    'a body with HEAD': { method: 'HEAD', body: { kind: 'text', content: 'x' } },
    'a body that is too large': { method: 'POST', body: { kind: 'text', content: 'x'.repeat(1_001) } },
    'a body without a kind': { method: 'POST', body: 'x' },
    'an unknown redirect mode': { redirect: 'error' },
    'an unknown option': { dispatcher: {} },
    'an array as request': [] as unknown as JsonObject,
  }

  it.each(Object.entries(refused))('is rejected with %s', async (_name, request) => {
    const server = await serve((_request, response) => response.end())
    const net = newNet({ limits: { requestBytes: 1_000 } })
    expect(await codeOf(fetchRaw(net, callOf([server.place]), `${server.base}/`, request))).toBe('InputInvalid')
    expect(server.sockets).toHaveLength(0)
  })

  it('may reach its limits, with every allowed method', () => {
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

  it('has trimmed headers, and defaults if nothing is given', () => {
    expect(readRequest({ headers: { 'X-A': ' 1\t' } }, 0).headers.get('x-a')).toBe('1')
    expect(readRequest({ headers: null, body: null }, 0)).toEqual(readRequest(undefined, 0))
    expect(readRequest(undefined, 0)).toMatchObject({ method: 'GET', body: null, follow: true })
  })

  it('is one request on the wire, whatever path, headers and body contain', async () => {
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
    await net.fetch(
      `http://127.0.0.1:${port}/%0d%0ahost:%20evil.test?a=%0d%0a`, { method: 'POST', headers, body: smuggled },
    )
    const [head = '', body] = (await wire.promise).split(`${LINE}${LINE}GET`)[0]!.split(/\r\n\r\n(?=0)/)
    expect(head.split(LINE).toSorted()).toEqual([
      'POST /%0d%0ahost:%20evil.test?a=%0d%0a HTTP/1.1', `host: 127.0.0.1:${port}`, 'connection: keep-alive',
      'accept: */*',
      'accept-encoding: gzip, br, zstd',
      'user-agent: bulkhead', 'content-type: text/plain;charset=UTF-8', 'x-a: 1, 2\t; host: evil.test',
      `content-length: ${smuggled.length}`,
    ].toSorted())
    expect(body).toBe('0')
  })

  it('requests a range uncompressed', async () => {
    const server = await serve((_request, response) => response.end())
    await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`, { headers: { Range: 'bytes=0-9' } })
    expect(server.requests[0]!.headers).toMatchObject({ range: 'bytes=0-9', 'accept-encoding': 'identity' })
  })
})
