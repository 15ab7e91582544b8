import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { pdfText } from '../../model/pdf/pdf-text.ts'
import { serve } from '../../../test/loopback.ts'
import { toolSession } from '../../../test/tool-session.ts'
import { encryptedPdf, pdfOf } from '../../../test/pdf-of.ts'

let answer: RequestListener
const server = await serve((request, response) => answer(request, response))
const page = (type: string, body: string | Buffer, headers = {}): RequestListener => (_, response) => {
  response.writeHead(200, { 'content-type': type, ...headers }).end(body)
}

describe('web_fetch', () => {
  const tool = toolSession('web_fetch', {}, { bundled: { fetchHosts: ['*', server.place] } })
  const url = `${server.base}/page`

  it('returns a page as Markdown or text', async () => {
    answer = page('text/html; charset=utf-8', gzipSync('<title>T</title><h1>Zürich</h1><p>a <b>b</b></p>'), {
      'content-encoding': 'gzip',
    })
    expect(await tool.call({ url })).toEqual({
      url, title: 'T', content: '# Zürich\n\na **b**', content_type: 'text/html',
    })
    expect(await tool.call({ url, format: 'text' })).toMatchObject({ content: 'Zürich\n\na b' })
    expect(server.requests.at(-1)!.headers).toMatchObject({ 'user-agent': expect.stringContaining('Bulkhead') })
  })

  it('decodes the charset of a page', async () => {
    answer = page('text/html; charset=iso-8859-1', Buffer.from('<p>caf\xe9', 'latin1'))
    expect(await tool.call({ url })).toMatchObject({ content: 'café' })
    answer = page('text/html', Buffer.from('<meta charset="windows-1252"><p>caf\xe9', 'latin1'))
    expect(await tool.call({ url })).toMatchObject({ content: 'café' })
    answer = page('text/html; charset=klingon', '<p>é')
    expect(await tool.call({ url })).toMatchObject({ content: 'é' })
  })

  it('returns plain text unchanged, and the text of a PDF', async () => {
    answer = page('application/json', '{"a": [1]}')
    expect(await tool.call({ url })).toEqual({ url, content: '{"a": [1]}', content_type: 'application/json' })
    answer = page('application/pdf', pdfOf('Hello from a PDF'))
    expect(await tool.call({ url })).toMatchObject({ content: 'Hello from a PDF', content_type: 'application/pdf' })
  })

  it('follows redirects within a host and reports others', async () => {
    answer = (request, response) => {
      if (request.url === '/page') response.writeHead(301, { location: '/next' }).end()
      else page('text/plain', 'here')(request, response)
    }
    expect(await tool.call({ url })).toEqual({
      url: `${server.base}/next`, content: 'here', content_type: 'text/plain',
    })
    answer = (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end()
    expect(await tool.refusal({ url })).toMatchObject({
      code: 'ToolExecutionFailed', message: expect.stringContaining('http://169.254.169.254/latest'),
    })
    answer = (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end()
    expect((await tool.refusal({ url })).message).toBe('127.0.0.1 redirects to a URL that is not http or https.')
    answer = (_, response) => response.writeHead(302, { location: '/page' }).end()
    expect((await tool.refusal({ url })).message).toContain('more than 5 times')
  })

  it.each([
    ['the metadata address of a cloud', 'http://169.254.169.254/'], ['this machine', 'http://localhost/'],
    ['a decimal address', 'http://2130706433/'], ['an octal address', 'http://0177.0.0.1/'],
    ['an IPv4-mapped IPv6 address', 'http://[::ffff:127.0.0.1]/'], ['the private network', 'http://10.0.0.1/'],
    ['another port', 'http://127.0.0.1:1/'],
  ])('does not reach %s', async (_, address) => {
    expect((await tool.refusal({ url: address })).code).toBe('CapabilityDenied')
  })

  it.each([
    ['a file', 'file:///etc/passwd', 'InputInvalid'], ['a string that is not a URL', 'example', 'InputInvalid'],
    ['a password', 'https://u:p@example.com/', 'InputInvalid'],
    ['a script', 'javascript:alert(1)', 'InputInvalid'],
  ])('refuses %s', async (_, address, code) => {
    expect((await tool.refusal({ url: address })).code).toBe(code)
  })

  it.each([
    ['a missing page', ((_, response) => response.writeHead(404).end()) as RequestListener, 'NotFound'],
    ['a busy server', ((_, response) => response.writeHead(503).end()) as RequestListener, 'ResourceBusy'],
    ['a server error', ((_, response) => response.writeHead(500).end()) as RequestListener, 'ToolExecutionFailed'],
    ['an image', page('image/png', 'x'), 'ToolExecutionFailed'],
    ['a page that is too large', page('text/plain', Buffer.alloc(6 * 1024 * 1024, 'x')), 'ToolExecutionFailed'],
    [
      'a decompression bomb',
      page('text/plain', gzipSync(Buffer.alloc(64 * 1024 * 1024)), { 'content-encoding': 'gzip' }),
      'ToolExecutionFailed',
    ],
  ])('fails on %s', async (_, listener, code) => {
    answer = listener
    expect((await tool.refusal({ url })).code).toBe(code)
  })

  it('reports why a PDF cannot be read, and stops reading when the call is cancelled', LONG, async () => {
    answer = page('application/pdf', 'not a PDF')
    expect(await tool.refusal({ url })).toMatchObject({
      code: 'ToolExecutionFailed',
      message: 'The PDF could not be read: Invalid PDF structure. Check that the file is a complete PDF.',
    })
    answer = page('application/pdf', encryptedPdf())
    expect(await tool.refusal({ url })).toMatchObject({
      message: expect.stringMatching(/No password given\. It is encrypted\. Ask the user/),
    })
    const cancel = new AbortController()
    const reading = pdfText(pdfOf('x'), cancel.signal)
    cancel.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
    await expect(pdfText(pdfOf('x'), new AbortController().signal, { deadlineMs: 1 })).rejects.toMatchObject({
      message: expect.stringContaining('took longer'),
    })
  })

  it('stops when the call is cancelled', async () => {
    const cancel = new AbortController()
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('a')
      cancel.abort(new Error('enough'))
    }
    await expect(tool.call({ url }, cancel.signal)).rejects.toThrow('enough')
  })

  it('uses the host as its approval key', async () => {
    expect(await tool.key({ url: 'https://Docs.Example.com:8443/a?b' })).toBe('docs.example.com')
    expect(await tool.key({ url: 'nonsense' })).toBe('not a URL')
  })
})
