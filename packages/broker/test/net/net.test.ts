import { describe, expect, it } from 'vitest'
import {
  callOf, closed, codeOf, fetchRaw, newNet, reach, readRaw, refusal, errorWith, serve, serveRaw,
} from './loopback.ts'

describe('a fetch', () => {
  it('returns status, headers and body of a granted host', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(
        201, { 'content-type': 'text/x', 'content-length': 13, 'x-a': ['1', '2'], 'set-cookie': ['a=1,2', 'b'] },
      )
      response.end('{"answer":42}')
    })
    const net = newNet()
    const response = await reach(net, callOf([server.place])).fetch(`${server.base}/path?query#fragment`)
    expect(response.url).toBe(`${server.base}/path?query`)
    expect(response.status).toBe(201)
    expect(response.headers).toMatchObject({
      'content-type': 'text/x', 'content-length': '13', 'x-a': '1, 2', 'set-cookie': 'a=1,2\nb',
    })
    expect(response.headers).not.toHaveProperty('connection')
    expect(await response.json()).toEqual({ answer: 42 })
    expect(server.seen).toEqual(['GET /path?query'])
  })

  it('sends method, headers, body and user agent', async () => {
    const bodies: string[] = []
    const server = await serve((request, response) => {
      let body = ''
      request.setEncoding('latin1').on('data', (piece: string) => (body += piece)).on('end', () => {
        bodies.push(body)
        response.end()
      })
    })
    const net = reach(newNet(), callOf([`localhost:${server.port}`]))
    const url = `http://localhost:${server.port}/`
    await net.fetch(url, { method: 'put', headers: { Authorization: 'Bearer x', 'X-Own': 'ÿ' }, body: 'text' })
    await net.fetch(url, { method: 'POST', headers: { 'user-agent': 'mine' }, body: Uint8Array.of(0, 128, 255) })
    expect(server.seen).toEqual(['PUT /', 'POST /'])
    expect(bodies).toEqual(['text', '\0\u0080ÿ'])
    expect(server.requests[0]!.headers).toMatchObject({
      host: `localhost:${server.port}`, authorization: 'Bearer x', 'x-own': 'ÿ', 'content-length': '4',
      'content-type': 'text/plain;charset=UTF-8', accept: '*/*', 'accept-encoding': 'gzip, br, zstd',
      'user-agent': 'bulkhead',
    })
    expect(server.requests[1]!.headers['user-agent']).toBe('mine')
    expect(server.requests[1]!.headers).not.toHaveProperty('content-type')
  })

  it('has no body after HEAD, 204 and 304, and releases its slot', async () => {
    const server = await serve((request, response) => {
      if (request.method === 'HEAD') response.setHeader('content-length', '5').end()
      else response.writeHead(request.url === '/204' ? 204 : 304, { 'content-encoding': 'gzip' }).end()
    })
    const [net, call] = [newNet({ limits: { requestsPerCall: 1 } }), callOf([server.place])]
    const url = server.base
    const head = await fetchRaw(net, call, `${url}/`, { method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, bodyId: null, headers: { 'content-length': '5' } })
    expect(await fetchRaw(net, call, `${url}/204`)).toMatchObject({ status: 204, bodyId: null })
    expect(await fetchRaw(net, call, `${url}/304`)).toMatchObject({ status: 304, bodyId: null })
    expect(await (await reach(net, call).fetch(`${url}/204`)).text()).toBe('')
  })

  it('reuses connections within a call, but not those of another call', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const net = newNet()
    const [first, second] = [reach(net, callOf([server.place])), reach(net, callOf([server.place]))]
    const url = `${server.base}/`
    for (let count = 0; count < 10; count++) await (await first.fetch(url)).text()
    const ofFirst = server.sockets.length
    expect(ofFirst).toBeLessThan(10)
    await (await second.fetch(url)).text()
    expect(server.sockets).toHaveLength(ofFirst + 1)
  })

  it('ignores the proxy variables of the host', async () => {
    const proxy = await serve((_request, response) => response.end('proxy'))
    const server = await serve((_request, response) => response.end('server'))
    const names = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
    for (const name of names) process.env[name] = proxy.base
    process.env['NODE_USE_ENV_PROXY'] = '1'
    try {
      const response = await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`)
      expect(await response.text()).toBe('server')
      expect(proxy.sockets).toHaveLength(0)
    } finally {
      for (const name of [...names, 'NODE_USE_ENV_PROXY']) delete process.env[name]
    }
  })

  it('stores no cookies', async () => {
    const server = await serve((_request, response) => response.setHeader('set-cookie', 'a=1').end())
    const net = reach(newNet(), callOf([server.place]))
    for (let count = 0; count < 2; count++) await (await net.fetch(`${server.base}/`)).text()
    expect(server.requests[1]!.headers).not.toHaveProperty('cookie')
  })

  it('is denied outside the grant before anything is resolved or sent', async () => {
    const server = await serve((_request, response) => response.end())
    let lookups = 0
    const net = newNet({ lookup: async () => (lookups++, ['127.0.0.1']) })
    const call = callOf(['api.example.com', `127.0.0.1:${server.port + 1}`])
    const places = [server.place, `localhost:${server.port}`, 'secret.evil.test', `api.example.com:${server.port}`]
    for (const url of ['file:///etc/passwd', ...places.map((place) => `http://${place}/`)]) {
      expect(await codeOf(fetchRaw(net, call, url)), url).toBe('CapabilityDenied')
    }
    expect(lookups).toBe(0)
    expect(server.sockets).toHaveLength(0)
  })

  it('is denied with an empty grant', async () => {
    expect(await codeOf(fetchRaw(newNet(), callOf([]), 'https://example.com/'))).toBe('CapabilityDenied')
  })
})

describe('a fetch that fails', () => {
  it('reports a refused connection with a remedy', async () => {
    // Nothing listens on this port of the other address.
    const { port } = await serve(() => undefined)
    const error = await refusal(fetchRaw(newNet(), callOf([`127.0.0.9:${port}`]), `http://127.0.0.9:${port}/`))
    expect(error.code).toBe('ToolExecutionFailed')
    expect(error.message).toBe('The host 127.0.0.9 refused the connection. Check that it is up and the port is right.')
  })

  it('reports a name without an address as not found', async () => {
    const missing = async (): Promise<never> => {
      throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    }
    expect(await codeOf(fetchRaw(newNet({ lookup: missing }), callOf(['a.test']), 'http://a.test/'))).toBe('NotFound')
    expect(await codeOf(fetchRaw(newNet({ lookup: async () => [] }), callOf(['a.test']), 'http://a.test/')))
      .toBe('NotFound')
  })

  it.each([
    ['line ends without CR', 'HTTP/1.1 200 OK\nx: y\ncontent-length: 2\n\nok'],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nx'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ])('reports a response with %s as invalid HTTP', async (_, answer) => {
    const server = await serveRaw((socket) => void socket.once('data', () => socket.write(answer)))
    const error = await refusal(fetchRaw(newNet(), callOf([server.place]), `${server.base}/`))
    expect(error).toMatchObject(errorWith('ToolExecutionFailed', 'answered with something that is not HTTP'))
  })

  it('does not disclose addresses', async () => {
    const error = await refusal(
      fetchRaw(newNet({ lookup: async () => ['10.11.12.13'] }), callOf(['a.test']), 'http://a.test/'),
    )
    expect(error).toMatchObject(errorWith('CapabilityDenied', 'has an address that is not public (private)'))
    expect(JSON.stringify([error.message, error.data])).not.toContain('10.11.12.13')
  })

  it('fails at the deadline for headers, even if interim responses keep arriving', async () => {
    const server = await serve((_request, response) => {
      const more = setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 5)
      response.once('close', () => clearInterval(more))
    })
    const net = newNet({ limits: { headersMs: 100, interimResponses: Infinity } })
    const error = await refusal(fetchRaw(net, callOf([server.place]), `${server.base}/`))
    expect(error).toMatchObject(errorWith('ToolExecutionFailed', 'did not answer within 100 ms'))
  })

  it('fails after too many interim responses, before the deadline', async () => {
    const server = await serveRaw((socket) => {
      const flood = Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(1_000))
      const send = (): void => {
        while (socket.writable && socket.write(flood));
      }
      socket.once('data', send).on('drain', send)
    })
    const error = await refusal(fetchRaw(newNet(), callOf([server.place]), `${server.base}/`))
    expect(error).toMatchObject(errorWith('ToolExecutionFailed', 'sent more than 32 interim responses'))
    await closed(server.sockets[0]!)
  })

  it('fails at the deadline for headers while it connects', async () => {
    const net = newNet({ lookup: () => new Promise(() => undefined), limits: { headersMs: 50 } })
    const error = await refusal(fetchRaw(net, callOf(['a.test']), 'http://a.test/'))
    expect(error.message).toBe('The host a.test did not answer within 50 ms. Try again later.')
  })

  it('fails at the deadline for connecting while the name is resolved', async () => {
    const net = newNet({ lookup: () => new Promise(() => undefined), limits: { connectMs: 50 } })
    const error = await refusal(fetchRaw(net, callOf(['a.test']), 'http://a.test/'))
    expect(error).toMatchObject(errorWith('ToolExecutionFailed', 'took longer than 50 ms'))
  })
})

describe('request slots', () => {
  it('are limited per call, and released when a body is read or discarded', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const [net, call] = [newNet({ limits: { requestsPerCall: 2 } }), callOf([server.place])]
    const url = `${server.base}/`
    const [{ bodyId: first }, { bodyId: second }] = [await fetchRaw(net, call, url), await fetchRaw(net, call, url)]
    expect(await refusal(fetchRaw(net, call, url))).toMatchObject({ code: 'ResourceBusy', retryable: true })
    expect(await readRaw(net, call, first!)).toBe(Buffer.from('x').toString('base64'))
    expect(await readRaw(net, call, first!)).toBeNull()
    const { bodyId: third } = await fetchRaw(net, call, url)
    expect(await codeOf(fetchRaw(net, call, url))).toBe('ResourceBusy')
    expect(await readRaw(net, call, second!, 'drop')).toBeNull()
    await fetchRaw(net, call, url)
    expect(await codeOf(readRaw(net, call, first!))).toBe('InputInvalid')
    expect(await codeOf(readRaw(net, call, second!))).toBe('InputInvalid')
    expect(await readRaw(net, call, third!)).toBe('eA==')
  })

  it('are limited across calls, and released by failed requests', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const net = newNet({ limits: { requestsAtOnce: 1 } })
    const [first, second] = [callOf([server.place]), callOf([server.place, '127.0.0.9:1'])]
    const url = `${server.base}/`
    expect(await codeOf(fetchRaw(net, second, 'http://127.0.0.9:1/'))).toBe('ToolExecutionFailed')
    await fetchRaw(net, first, url)
    expect(await codeOf(fetchRaw(net, second, url))).toBe('ResourceBusy')
    net.endCall(first.callId)
    expect(await fetchRaw(net, second, url)).toMatchObject({ status: 200 })
  })

  it('also limit DNS lookups, which outlive their call', async () => {
    const net = newNet({ lookup: () => new Promise(() => undefined), limits: { lookupsAtOnce: 1 } })
    const [first, second] = [callOf(['a.test']), callOf(['a.test'])]
    const waiting = codeOf(fetchRaw(net, first, 'http://a.test/'))
    net.endCall(first.callId)
    expect(await waiting).toBe('ToolCancelled')
    expect(await codeOf(fetchRaw(net, second, 'http://a.test/'))).toBe('ResourceBusy')
  })

  it('do not give access to bodies of other calls', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const [net, first, second] = [newNet(), callOf([server.place]), callOf([server.place])]
    const { bodyId } = await fetchRaw(net, first, `${server.base}/`)
    expect(await codeOf(readRaw(net, second, bodyId!))).toBe('InputInvalid')
    for (const odd of [null, 7, {}, '__proto__', 'constructor', 'x'.repeat(100)]) {
      expect(await codeOf(readRaw(net, first, odd))).toBe('InputInvalid')
    }
  })
})
