import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Net } from '@bulkhead/contract'
import { netCapability } from '../../src/net/net.ts'
import { encodedForms } from '../../src/secrets/vault.ts'
import { reach, refusal, serve, type Loopback } from '../net/loopback.ts'
import { callOf, handleOf, vaultOf } from './setup.ts'

const VALUE = 'Schlüssel "7/+ %25"'

/** A tool that may reach all servers. TOKEN is for those of `own`; OTHER, which it does not use, for the first. */
async function fetching(
  own: readonly Loopback[], all: readonly Loopback[], value = VALUE,
): Promise<{ readonly net: Net; readonly handle: string }> {
  const hosts = own.map(({ place }) => place)
  const vault = vaultOf({ TOKEN: { value, hosts }, OTHER: { value: 'never-used-value', hosts: [hosts[0]!] } })
  const unit = netCapability({ secrets: vault })
  onTestFinished(() => unit.close())
  const call = callOf({ net: { hosts: all.map(({ place }) => place) } })
  return { net: reach(unit, call), handle: await handleOf(vault, call) }
}

const answer = (_request: IncomingMessage, response: ServerResponse): void => void response.end('answer')

/** Redirects every request to `to` with its own query, as a proxy that moved does. */
const moved = (to: () => string, status = 302) => (request: IncomingMessage, response: ServerResponse): void =>
  void response.writeHead(status, { location: `${to()}${request.url!}` }).end()

describe('a redirect with the value of a secret', () => {
  it('does not reach a host that the secret is not for when the declared host keeps the query', async () => {
    const other = await serve(answer)
    const mine = await serve(moved(() => other.base))
    const { net, handle } = await fetching([mine], [mine, other])
    const error = await refusal(net.fetch(`${mine.base}/find?q=1&key=${handle}`))
    expect(error).toMatchObject({ code: 'CapabilityDenied', data: { power: 'secrets', name: 'TOKEN' } })
    expect(error.message).toContain(`The secret TOKEN may not be sent to ${other.place}`)
    expect(error.message).not.toContain(VALUE)
    expect([mine.seen, other.seen]).toEqual([[`GET /find?q=1&key=${encodeURIComponent(VALUE)}`], []])
  })

  it('goes to every host of the secret, and on from there without the value', async () => {
    const other = await serve(answer)
    const second = await serve(
      (request, response) =>
        void response
          .writeHead(302, { location: request.url!.startsWith('/bare') ? `${other.base}/end` : '/bare' })
          .end(),
    )
    const mine = await serve(moved(() => second.base))
    const { net, handle } = await fetching([mine, second], [mine, second, other])
    const response = await net.fetch(`${mine.base}/?key=${handle}`)
    expect([response.url, second.seen]).toEqual([
      `${other.base}/end`, [`GET /?key=${encodeURIComponent(VALUE)}`, 'GET /bare'],
    ])
  })

  it('is stopped at a later hop, and after another host in between', async () => {
    const [last, between] = [await serve(answer), await serve((_request, response) =>
      void response.writeHead(302, { location: `${last.base}/?key=${encodeURIComponent(VALUE)}` }).end())]
    const mine = await serve(moved(() => between.base))
    const { net, handle } = await fetching([mine], [mine, between, last])
    const error = await refusal(net.fetch(`${mine.base}/`, { headers: { authorization: handle } }))
    expect([error.code, between.seen, last.seen]).toEqual(['CapabilityDenied', ['GET /'], []])
  })

  it.each(encodedForms(VALUE).map((form) => [form.toString('latin1'), form] as const))(
    'is stopped in the form %j, in a body, a header and a URL', async (written, form) => {
      const other = await serve(answer)
      const mine = await serve((request, response) =>
        void response.writeHead(307, { location: `${other.base}/${request.headers['x-to'] ?? ''}` }).end())
      const { net, handle } = await fetching([mine], [mine, other])
      const code = async (headers: Record<string, string>, body?: Uint8Array): Promise<string> =>
        (await refusal(net.fetch(`${mine.base}/`, {
          method: 'POST', headers: { authorization: handle, ...headers }, ...(body && { body }),
        }))).code
      expect(await code({}, Buffer.concat([Buffer.from('a=b\n<'), form, Buffer.from('>')]))).toBe('CapabilityDenied')
      expect(await code({ 'user-agent': `x ${written} y` })).toBe('CapabilityDenied')
      const escaped = Array.from(form, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      expect(await code({ 'x-to': `?q=${escaped}` })).toBe('CapabilityDenied')
      expect(other.seen).toEqual([])
    })

  it('is stopped at any place of a long body', async () => {
    const other = await serve(answer)
    const mine = await serve(moved(() => other.base, 308))
    const { net, handle } = await fetching([mine], [mine, other])
    for (const before of [256 * 1024 - 5, 1024 * 1024]) {
      const request = { method: 'PUT', headers: { authorization: handle }, body: `${'-'.repeat(before)}${VALUE}-` }
      expect((await refusal(net.fetch(`${mine.base}/`, request))).code).toBe('CapabilityDenied')
    }
    expect(other.seen).toEqual([])
  })

  it('is stopped in the credentials that were computed from it', async () => {
    const other = await serve(answer)
    const mine = await serve((request, response) => {
      const credentials = encodeURIComponent(request.headers.authorization!.slice('Basic '.length))
      response.writeHead(302, { location: `${other.base}/${credentials}` }).end()
    })
    const { net, handle } = await fetching([mine], [mine, other])
    const error = await refusal(net.fetch(`${mine.base}/`, { headers: { authorization: `Basic me:${handle}` } }))
    expect([error.code, other.seen]).toEqual(['CapabilityDenied', []])
  })

  it('is not sent on over http to another machine, even to a host of the secret', async () => {
    const mine = await serve((_request, response) =>
      void response.writeHead(302, { location: `http://far.test/?key=${encodeURIComponent(VALUE)}` }).end())
    const vault = vaultOf({ TOKEN: { value: VALUE, hosts: [mine.place, 'far.test'] } })
    let lookups = 0
    const unit = netCapability({ secrets: vault, lookup: async () => (lookups++, ['192.0.2.1']) })
    onTestFinished(() => unit.close())
    const call = callOf({ net: { hosts: [mine.place, 'far.test'] } })
    const headers = { authorization: await handleOf(vault, call) }
    expect(await refusal(reach(unit, call).fetch(`${mine.base}/`, { headers }))).toMatchObject({
      code: 'CapabilityDenied', message: expect.stringContaining('Use https') as string,
    })
    expect(lookups).toBe(0)
  })
})

describe('what a refused redirect reveals', () => {
  it('is nothing about a part of the value: all but one character is followed', async () => {
    const other = await serve(answer)
    const mine = await serve((request, response) =>
      void response.writeHead(307, { location: `${other.base}/?q=${request.headers['x-guess'] as string}` }).end())
    const value = 'correct-horse-battery'
    const { net, handle } = await fetching([mine], [mine, other], value)
    const used = { authorization: handle }
    const guesses = [value.slice(0, -1), value.slice(1), `${value.slice(0, -1)}x`, [...value].toReversed().join('')]
    for (const guess of guesses) {
      const response = await net.fetch(`${mine.base}/`, {
        method: 'POST', headers: { ...used, 'x-guess': guess, 'user-agent': guess }, body: guess,
      })
      expect(response.url).toBe(`${other.base}/?q=${guess}`)
    }
    expect((await refusal(net.fetch(`${mine.base}/`, { headers: { ...used, 'x-guess': value } }))).code)
      .toBe('CapabilityDenied')
  })

  it('is nothing about a secret before its first use, nor in redirects that did not pass its hosts', async () => {
    const last = await serve(answer)
    const between = await serve(moved(() => last.base, 307))
    const mine = await serve(moved(() => last.base, 307))
    const { net, handle } = await fetching([mine], [mine, between, last])
    const value = encodeURIComponent(VALUE)
    const followed = async (from: Loopback, query: string): Promise<number> =>
      (await net.fetch(`${from.base}/?${query}`, { method: 'POST', body: VALUE })).status
    expect(await followed(mine, value)).toBe(200)
    await net.fetch(`${last.base}/`)
    await refusal(net.fetch(`${mine.base}/?key=${handle}`))
    expect((await refusal(followed(mine, value))).code).toBe('CapabilityDenied')
    expect(await followed(between, value)).toBe(200)
    const unused = await net.fetch(`${mine.base}/?q=never-used-value`)
    expect(unused.status).toBe(200)
  })
})
