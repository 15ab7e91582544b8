import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { netAccess } from '../../../sandbox/src/extension/net-access.ts'
import { callOf, closed, newNet, reach, errorWith, serve } from './loopback.ts'

describe('runtime.net', () => {
  it('reads a body as text, JSON, bytes or chunks', async () => {
    const server = await serve((_request, response) => response.end('\ufeff{"å":1}'))
    const net = reach(newNet(), callOf([server.place]))
    const url = `${server.base}/`
    expect(await (await net.fetch(url)).text()).toBe('{"å":1}')
    expect(await (await net.fetch(url)).json()).toEqual({ å: 1 })
    const bytes = await (await net.fetch(url)).bytes()
    expect(Object.getPrototypeOf(bytes)).toBe(Uint8Array.prototype)
    expect(Buffer.from(bytes).toString()).toBe('\ufeff{"å":1}')
    const pieces: Uint8Array[] = []
    for await (const piece of (await net.fetch(url)).body) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toBe('\ufeff{"å":1}')
  })

  it('reports a body that is not JSON', async () => {
    const server = await serve((_request, response) => response.writeHead(502).end('<html>'))
    const response = await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`)
    await expect(response.json()).rejects.toMatchObject(errorWith('ToolExecutionFailed', 'of status 502, is not JSON.'))
  })

  it('returns a body once', async () => {
    const server = await serve((_request, response) => response.end('x'))
    const response = await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`)
    await response.text()
    await expect(response.text()).rejects.toMatchObject({ code: 'InputInvalid' })
  })

  it('closes the connection if a body is abandoned', async () => {
    const server = await serve((_request, response) => response.write('first'))
    const response = await reach(newNet(), callOf([server.place])).fetch(`${server.base}/`)
    const gone = closed(server.sockets[0]!)
    for await (const piece of response.body) {
      expect(Buffer.from(piece).toString()).toBe('first')
      break
    }
    await gone
  })

  it('sends no requests after a body has ended or failed', async () => {
    const asked: unknown[][] = []
    const answers: Json[] = [{ url: 'u', status: 200, headers: {}, bodyId: '1' }, 'eA==', null]
    const net = netAccess(async (...question) => {
      asked.push(question)
      const answer = answers.shift()
      if (answer === undefined) throw new Error('gone')
      return answer
    })
    expect(await (await net.fetch('u', { method: 'PUT', body: Uint8Array.of(1) })).text()).toBe('x')
    expect(asked).toEqual([
      ['net.fetch', 'u', { method: 'PUT', body: { kind: 'bytes', content: 'AQ==' } }], ['net.read', '1'],
      ['net.read', '1'],
    ])
    answers.push({ url: 'u', status: 200, headers: {}, bodyId: '2' })
    await expect((await net.fetch('u')).text()).rejects.toThrow('gone')
    expect(asked.slice(3)).toEqual([['net.fetch', 'u', {}], ['net.read', '2']])
  })

  it('cannot be modified by the tool', async () => {
    const net = netAccess(async () => ({ url: 'u', status: 200, headers: { a: '1' }, bodyId: null }))
    const response = await net.fetch('u')
    expect([net, response, response.headers, response.body].every((part) => Object.isFrozen(part))).toBe(true)
    expect(await response.text()).toBe('')
  })
})
