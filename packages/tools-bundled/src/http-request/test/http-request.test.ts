import type { IncomingMessage, RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import { readArguments } from '../http-request.ts'
import { readArguments as readFetchArguments } from '../../web-fetch/web-fetch.ts'
import { serve } from '../../../test/loopback.ts'
import { toolSession } from '../../../test/tool-session.ts'

let answer: RequestListener
const server = await serve((request, response) => answer(request, response))
const responding =
  (type: string, body: string | Buffer, status = 200, headers = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, { ...(type !== '' && { 'content-type': type }), ...headers }).end(body)
  }
/** Answers with what arrived. */
const echo: RequestListener = async (request, response) => {
  const { method, url, headers } = request
  response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify({ method, url, headers, body: await text(request as IncomingMessage) }))
}

describe('http_request', () => {
  const tool = toolSession('http_request', {}, { bundled: { fetchHosts: ['*', server.place] } })
  const url = `${server.base}/api?x=1`
  beforeEach(() => { answer = echo })

  it('sends method, headers and body, and returns status, headers and a parsed body', async () => {
    const result = await tool.call({ url, method: 'PUT', headers: { 'X-Mine': 'a', 'User-Agent': 'me' }, body: 'ü' })
    expect(result).toMatchObject({
      url, status: 200, content_type: 'application/json', body_kind: 'json',
      headers: { 'content-type': 'application/json' },
      body: { method: 'PUT', url: '/api?x=1', body: 'ü', headers: { 'x-mine': 'a', 'user-agent': 'me' } },
    })
    expect(Object.keys(result).at(-1)).toBe('body')
    expect(await tool.call({ url })).toMatchObject({
      body: { method: 'GET', body: '', headers: { 'user-agent': 'Bulkhead/1.0 (http_request)' } },
    })
  })

  it('sends a JSON object with its type, unless the headers name another', async () => {
    expect(await tool.call({ url, method: 'POST', json: { a: [1] } })).toMatchObject({
      body: { body: '{"a":[1]}', headers: { 'content-type': 'application/json' } },
    })
    expect(
      await tool.call({ url, method: 'PATCH', json: {}, headers: { 'Content-Type': 'application/merge-patch+json' } }),
    ).toMatchObject({
      body: { method: 'PATCH', body: '{}', headers: { 'content-type': 'application/merge-patch+json' } },
    })
  })

  it('returns text, broken JSON, binary and empty bodies as what they are, also with an error status', async () => {
    answer = responding('text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1'), 404)
    expect(await tool.call({ url })).toMatchObject({ status: 404, bytes: 4, body_kind: 'text', body: 'café' })
    answer = responding('application/problem+json', '{"a"', 500)
    expect(await tool.call({ url })).toMatchObject({ status: 500, body_kind: 'text', body: '{"a"' })
    answer = responding('image/png', Buffer.alloc(300))
    const image = await tool.call({ url })
    expect(image).toMatchObject({ content_type: 'image/png', bytes: 300, body_kind: 'binary' })
    expect(image).not.toHaveProperty('body')
    answer = responding('', '', 204)
    expect(await tool.call({ url, method: 'DELETE' })).toMatchObject({
      status: 204, bytes: 0, content_type: '', body_kind: 'empty',
    })
  })

  it.each([
    ['is nested too deep', '['.repeat(70) + ']'.repeat(70)],
    ['has a key that no result may have', '{"a":{"__proto__":{"b":1}}}'],
  ])('returns JSON as text if it %s', async (_, body) => {
    answer = responding('application/json', body)
    expect(await tool.call({ url, method: 'POST', json: {} })).toMatchObject({ status: 200, body_kind: 'text', body })
  })

  it('keeps no cookies, and cuts long headers', async () => {
    answer = responding('text/plain', 'x', 200, { 'set-cookie': 'id=1', 'x-long': 'y'.repeat(3_000) })
    expect(await tool.call({ url })).toMatchObject({
      headers: { 'set-cookie': 'id=1', 'x-long': expect.stringMatching(/^y{1000}…$/) },
    })
    answer = echo
    expect((await tool.call({ url }) as { body: { headers: object } }).body.headers).not.toHaveProperty('cookie')
  })

  it('follows redirects of GET on the same origin only', async () => {
    answer = (request, response) => {
      if (request.url === '/next') void echo(request, response)
      else response.writeHead(302, { location: '/next' }).end()
    }
    expect(await tool.call({ url, headers: { authorization: 'Bearer x' } })).toMatchObject({
      url: `${server.base}/next`, body: { headers: { authorization: 'Bearer x' } },
    })
    expect(await tool.call({ url, method: 'POST', body: 'x' })).toMatchObject({
      url, status: 302, headers: { location: '/next' }, body_kind: 'empty',
    })
    for (const location of ['https://other.example/', `https://${server.place}/`, 'http://127.0.0.1:1/']) {
      answer = responding('', '', 302, { location })
      expect(await tool.refusal({ url })).toMatchObject({
        code: 'ToolExecutionFailed', message: expect.stringContaining(location), data: { location },
      })
    }
  })

  it.each([
    ['host', { host: 'evil.example' }], ['content-length', { 'Content-Length': '1' }],
    ['proxy-authorization', { 'Proxy-Authorization': 'x' }], ['connection', { connection: 'x' }],
    ['transfer-encoding', { 'transfer-encoding': 'chunked' }],
  ])('refuses the header %s', async (name, headers) => {
    const before = server.requests.length
    expect(await tool.refusal({ url, headers })).toMatchObject({
      code: 'InputInvalid', message: expect.stringContaining(`may not set the header ${name}`),
    })
    expect(server.requests).toHaveLength(before)
  })

  it.each([
    ['a body with GET', { url, body: 'x' }, 'InputInvalid', 'GET cannot have a body'],
    ['two bodies', { url, method: 'POST', body: 'x', json: {} }, 'InputInvalid', 'two bodies'],
    ['a header with a line break', { url, headers: { a: 'b\r\nhost: x' } }, 'InputInvalid', 'Latin-1'],
    ['a header twice', { url, headers: { a: '1', A: '2' } }, 'InputInvalid', 'given twice'],
    ['a file', { url: 'file:///etc/passwd' }, 'InputInvalid', 'not an http'],
    ['a password', { url: 'https://u:p@example.com/' }, 'InputInvalid', 'password'],
    ['the metadata address of a cloud', { url: 'http://169.254.169.254/' }, 'CapabilityDenied', 'not reach'],
    ['this machine', { url: 'http://localhost/' }, 'CapabilityDenied', 'not public'],
    ['another port', { url: 'http://127.0.0.1:1/' }, 'CapabilityDenied', '127.0.0.1:1'],
  ])('refuses %s', async (_, args, code, message) => {
    expect(await tool.refusal(args)).toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('fails on a response that is too large, and stops when the call is cancelled', async () => {
    answer = responding('text/plain', Buffer.alloc(6 * 1024 * 1024, 'x'))
    expect(await tool.refusal({ url })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('limit of 5 MB'),
    })
    const cancel = new AbortController()
    answer = () => cancel.abort(new Error('enough'))
    await expect(tool.call({ url, method: 'POST' }, cancel.signal)).rejects.toThrow('enough')
  })

  it('has the method and the host as its approval key', async () => {
    expect(await tool.key({ url: 'https://API.example.com:8443/a?b' })).toBe('GET api.example.com')
    expect(await tool.key({ url: 'https://api.example.com/', method: 'POST' })).toBe('POST api.example.com')
    expect(await tool.key({ url: 'nonsense', method: 'POST' })).toBe('not a URL')
  })
})

describe('the arguments of http_request', () => {
  const context = { workspace: '/w' }
  const url = 'https://api.example.com:8443/a'

  it('name the host for rules and ceilings, as those of web_fetch do', () => {
    const reading = readArguments({ url, method: 'DELETE' }, context)
    expect(reading).toEqual({
      key: 'DELETE api.example.com', subjects: [{ key: 'DELETE api.example.com', names: ['api.example.com'] }],
      touches: ['send DELETE to api.example.com:8443'], asks: [], denies: [],
      needs: [{ kind: 'net', subject: 'api.example.com:8443' }],
    })
    expect(readFetchArguments({ url }, context)).toMatchObject({ key: 'api.example.com', needs: reading.needs! })
    expect(readArguments({ url: 'nonsense' }, context)).toMatchObject({
      key: 'not a URL', touches: ['nothing: it is not a URL'], needs: [],
    })
  })
})
