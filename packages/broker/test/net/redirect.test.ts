import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { Denial } from '../../src/model/capability.ts'
import { callOf, closed, codeOf, fetchRaw, newNet, reach, refusal, errorWith, serve } from './loopback.ts'

/** `/302?http://…` responds with that status and location, any other path with 200. */
const redirecting = (request: IncomingMessage, response: ServerResponse): void => {
  const match = /^\/(\d{3})\?(.*)$/.exec(request.url ?? '')
  if (match === null) return void response.end('answer')
  response.writeHead(Number(match[1]), { location: match[2]! }).end('moved')
}

describe('a redirect', () => {
  it('is followed inside the grant, and the final URL is returned', async () => {
    const [first, second] = [await serve(redirecting), await serve(redirecting)]
    const net = reach(newNet(), callOf([first.place, second.place]))
    const response = await net.fetch(`${first.base}/302?${second.base}/301?/end`)
    expect([response.status, response.url, await response.text()]).toEqual([200, `${second.base}/end`, 'answer'])
    expect([...first.seen, ...second.seen]).toHaveLength(3)
  })

  it.each([
    'http://169.254.169.254/latest/meta-data/', 'http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]/',
    'http://0x7f000001/',
    'http://2130706433/', '//127.1/', 'http:\\\\127.0.0.1',
    'https://evil.test/', '//evil.test/', '/\\evil.test/', '\\\\evil.test\\', 'file:///etc/passwd', 'ftp://127.0.0.1/',
    'data:text/plain,x', 'javascript:alert(1)', 'http://user@wide.test/',
    'http://wide.test:22/',
  ])('to %s is denied', async (location) => {
    const server = await serve((_request, response) => response.writeHead(302, { location }).end())
    let lookups = 0
    const net = newNet({ lookup: async () => (lookups++, ['127.0.0.1']) })
    const error = await refusal(fetchRaw(net, callOf([server.place, 'wide.test']), `${server.base}/`))
    expect(error.code).toBe('CapabilityDenied')
    expect(error.message).toMatch(/^The host 127\.0\.0\.1 redirects elsewhere\. /)
    expect(server.seen).toHaveLength(1)
    expect(lookups).toBe(0)
  })

  it('that is denied reports its target and a remedy', async () => {
    const server = await serve(redirecting)
    const error = await refusal(
      fetchRaw(newNet(), callOf([server.place]), `${server.base}/302?https://evil.test/`),
    ) as Denial
    const what = 'The host 127.0.0.1 redirects elsewhere. The tool may not reach the host evil.test:443.'
    expect([error.message, error.data]).toEqual([
      `${what} Declare it in \`requires.net.hosts\`; without a port it means 80 and 443.`,
      { power: 'net', host: 'evil.test' },
    ])
    expect(error.toCaller().message).toBe(`${what} Use another host or port, or ask the operator to allow this one.`)
    const scheme = await refusal(fetchRaw(newNet(), callOf([server.place]), `${server.base}/302?ftp://evil.test/`))
    expect(scheme.data).toEqual({ power: 'net', host: 'evil.test' })
  })

  it.each([
    'http://', 'http://a b/', 'http://[::1', 'http://a:99999/', 'http://-a.test/',
  ])('to %j, which is not a URL, fails', async (location) => {
    const server = await serve((_request, response) => response.writeHead(302, { location }).end())
    expect(await codeOf(fetchRaw(newNet(), callOf([server.place]), `${server.base}/`))).toBe('ToolExecutionFailed')
  })

  it('that is denied closes the connection to the host that sent it', async () => {
    const head = { location: 'http://evil.test/' }
    const server = await serve((_request, response) => response.writeHead(302, head).write('more to come'))
    const denied = codeOf(fetchRaw(newNet(), callOf([server.place]), `${server.base}/`))
    expect(await denied).toBe('CapabilityDenied')
    await closed(server.sockets[0]!)
  })

  it('with two locations fails', async () => {
    const head = ['location', '/a', 'location', 'http://evil.test/']
    const server = await serve((_request, response) => response.writeHead(302, head).end())
    const url = `${server.base}/`
    expect((await fetchRaw(newNet(), callOf([server.place]), url, { redirect: 'manual' })).status).toBe(302)
    const response = await refusal(fetchRaw(newNet(), callOf([server.place]), url))
    expect(response.code).toBe('ToolExecutionFailed')
  })

  it('is returned if it has no location, or if redirect is manual', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/bare') response.writeHead(302).end('bare')
      else redirecting(request, response)
    })
    const net = reach(newNet(), callOf([server.place]))
    const bare = await net.fetch(`${server.base}/bare`)
    expect([bare.status, await bare.text()]).toEqual([302, 'bare'])
    const manual = await net.fetch(`${server.base}/307?http://evil.test/`, { redirect: 'manual' })
    expect([manual.status, manual.headers['location'], await manual.text()])
      .toEqual([307, 'http://evil.test/', 'moved'])
  })

  it.each([200, 201, 300, 304, 305])('is not followed for status %i, whatever its location', async (status) => {
    const server = await serve(redirecting)
    const response = await reach(newNet(), callOf([server.place])).fetch(`${server.base}/${status}?http://evil.test/`)
    expect([response.status, response.url]).toEqual([status, `${server.base}/${status}?http://evil.test/`])
  })

  it('is followed at most five times', async () => {
    const server = await serve((request, response) => {
      const left = Number(request.url!.slice(1))
      if (left === 0) response.end('answer')
      else response.writeHead(302, { location: `/${left - 1}` }).end()
    })
    const net = reach(newNet(), callOf([server.place]))
    expect(await (await net.fetch(`${server.base}/5`)).text()).toBe('answer')
    const error = await refusal(net.fetch(`${server.base}/6`))
    expect(error).toMatchObject(errorWith('ToolExecutionFailed', 'The host 127.0.0.1 redirects more than 5 times.'))
    expect(server.seen.filter((line) => line === 'GET /0')).toHaveLength(1)
  })

  it.each([
    [301, 'POST', 'GET'], [302, 'POST', 'GET'], [303, 'POST', 'GET'], [303, 'PUT', 'GET'], [303, 'HEAD', 'HEAD'],
    [301, 'PUT', 'PUT'], [302, 'DELETE', 'DELETE'], [307, 'POST', 'POST'], [308, 'PATCH', 'PATCH'],
  ])('of %i turns %s into %s', async (status, method, then) => {
    const server = await serve(redirecting)
    const net = reach(newNet(), callOf([server.place]))
    const ofBody = {
      'content-type': 'text/x', 'content-encoding': 'identity', 'content-language': 'nb', 'content-location': '/x',
    }
    const body = method === 'HEAD' ? {} : { body: 'content', headers: { ...ofBody, 'x-own': '1' } }
    await net.fetch(`${server.base}/${status}?/end`, { method, ...body })
    expect(server.seen[1]).toBe(`${then} /end`)
    const { headers } = server.requests[1]!
    if (then === 'GET') {
      expect(headers).toMatchObject({ 'x-own': '1' })
      expect(Object.keys(headers).filter((name) => name in ofBody)).toEqual([])
      expect(headers['content-length'] ?? '0').toBe('0')
    } else if (method !== 'HEAD') {
      expect(headers).toMatchObject({ 'x-own': '1', ...ofBody, 'content-length': '7' })
    }
  })

  it('keeps credentials within an origin and sends only harmless headers to another', async () => {
    const [first, second] = [await serve(redirecting), await serve(redirecting)]
    const net = reach(newNet(), callOf([first.place, second.place]))
    const credentials = { authorization: 'Bearer secret', cookie: 'a=secret', 'x-api-key': 'secret' }
    const plain = {
      accept: 'text/x', 'accept-encoding': 'identity', 'accept-language': 'nb', 'cache-control': 'no-cache',
      'content-encoding': 'identity',
      'content-language': 'nb', 'content-type': 'text/x', 'if-match': '"a"', 'if-modified-since': 'never',
      'if-none-match': '"a"',
      'if-range': '"a"', 'if-unmodified-since': 'never', range: 'bytes=0-9', 'user-agent': 'own',
    }
    const request = { method: 'POST', body: 'content', headers: { ...credentials, ...plain } }
    await net.fetch(`${first.base}/307?/307?${second.base}/end`, request)
    expect(first.requests[1]!.headers).toMatchObject(credentials)
    expect(second.requests[0]!.headers).toMatchObject({ ...plain, 'content-length': '7' })
    expect(JSON.stringify(second.requests[0]!.rawHeaders)).not.toContain('secret')
  })

  it('does not restore credentials that an earlier redirect dropped', async () => {
    const [first, second] = [await serve(redirecting), await serve(redirecting)]
    const net = reach(newNet(), callOf([first.place, second.place]))
    await net.fetch(`${first.base}/302?${second.base}/302?${first.base}/end`, { headers: { authorization: 'secret' } })
    expect(first.seen[1]).toBe('GET /end')
    expect(first.requests[1]!.headers).not.toHaveProperty('authorization')
  })
})
