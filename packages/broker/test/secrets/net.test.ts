import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Net } from '@bulkhead/contract'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { NetOptions } from '../../src/net/net.ts'
import { netCapability } from '../../src/net/net.ts'
import { REDACTED } from '../../src/secrets/redaction.ts'
import type { Loopback } from '../net/loopback.ts'
import { reach, serve } from '../net/loopback.ts'
import { callOf, codeOf, handleOf, SECRET, vaultOf } from './setup.ts'

/** A tool that may reach several servers and has a secret for the first. */
async function fetching(
  ...given: readonly (Loopback | NetOptions)[]
): Promise<{ readonly net: Net; readonly handle: string }> {
  const servers = given.filter((one) => 'place' in one)
  const vault = vaultOf({ TOKEN: { hosts: [servers[0]!.place] } })
  const unit = netCapability({ ...given.find((one) => !('place' in one)), secrets: vault })
  onTestFinished(() => unit.close())
  const call = callOf({ net: { hosts: servers.map(({ place }) => place) } })
  return { net: reach(unit, call), handle: await handleOf(vault, call) }
}

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  response.setHeader('x-echo', request.headers.authorization ?? '')
  response.end(`you sent ${request.headers.authorization}`)
}

describe('a request with a handle in a header', () => {
  it('sends the value to the declared host and redacts its echo', async () => {
    const server = await serve(echo)
    const { net, handle } = await fetching(server)
    const headers = { authorization: `Bearer ${handle}`, 'x-two': `${handle} ${handle}` }
    const response = await net.fetch(`${server.base}/`, { headers })
    expect(server.requests[0]!.headers)
      .toMatchObject({ authorization: `Bearer ${SECRET}`, 'x-two': `${SECRET} ${SECRET}` })
    expect(response.headers['x-echo']).toBe(`Bearer ${REDACTED}`)
    expect(await response.text()).toBe(`you sent Bearer ${REDACTED}`)
  })

  it('is not sent to a host the secret is not for', async () => {
    const [mine, other] = [await serve(echo), await serve(echo)]
    const { net, handle } = await fetching(mine, other)
    expect(await codeOf(net.fetch(`${other.base}/`, { headers: { authorization: handle } }))).toBe('CapabilityDenied')
    expect(other.requests).toEqual([])
    expect(await (await net.fetch(`${other.base}/`)).text()).toBe('you sent undefined')
  })

  it('drops the header when a redirect leaves the origin, whatever its name', async () => {
    const other = await serve((request, response) => response.end(JSON.stringify(request.headers)))
    const mine = await serve((request, response) => {
      if (request.url === '/same') response.writeHead(302, { location: '/there' }).end()
      else if (request.url === '/away') response.writeHead(307, { location: `${other.base}/` }).end()
      else response.end(JSON.stringify(request.headers))
    })
    const { net, handle } = await fetching(mine, other)
    const request = { headers: { authorization: handle, 'user-agent': handle, accept: 'text/x' } }
    expect(await (await net.fetch(`${mine.base}/same`, request)).json()).toMatchObject({ authorization: REDACTED })
    expect(mine.requests[1]!.headers.authorization).toBe(SECRET)
    await net.fetch(`${mine.base}/away`, request)
    expect(other.requests[0]!.headers).toMatchObject({ accept: 'text/x' })
    expect(other.requests[0]!.headers).not.toHaveProperty('authorization')
    expect(other.requests[0]!.headers).not.toHaveProperty('user-agent')
  })

  it('encodes basic credentials, and redacts their echo for all compartments', async () => {
    const server = await serve(echo)
    const { net, handle } = await fetching(server)
    const sent = async (authorization: string) => {
      const text = await (await net.fetch(`${server.base}/`, { headers: { authorization } })).text()
      return [server.requests.at(-1)!.headers.authorization, text]
    }
    const encoded = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
    expect(await sent(`Basic me:${handle}`)).toEqual([encoded(`me:${SECRET}`), `you sent Basic ${REDACTED}`])
    expect(await sent(`Basic ${handle}:`)).toEqual([encoded(`${SECRET}:`), `you sent Basic ${REDACTED}`])
    expect(await sent(`Basic ${handle}`)).toEqual([`Basic ${SECRET}`, `you sent Basic ${REDACTED}`])
    for (let count = 2; count < 16; count++) await sent(`Basic ${count}:${handle}`)
    expect(await codeOf(sent(`Basic more:${handle}`))).toBe('CapabilityDenied')
  })

  it('inserts the value into a query, never into the URL that the tool sees', async () => {
    const server = await serve((request, response) => response.end(request.url))
    const { net, handle } = await fetching(server)
    const response = await net.fetch(`${server.base}/p?key=${handle}&x=1`)
    expect(server.requests[0]!.url).toBe(`/p?key=${encodeURIComponent(SECRET)}&x=1`)
    expect([response.url, await response.text()]).toEqual([
      `${server.base}/p?key=${handle}&x=1`, `/p?key=${REDACTED}&x=1`,
    ])
    const other = await serve(echo)
    const { net: elsewhere, handle: foreign } = await fetching(server, other)
    expect(await codeOf(elsewhere.fetch(`${other.base}/?key=${foreign}`))).toBe('CapabilityDenied')
  })

  it('leaves an escaped handle, and one in a body, unchanged', async () => {
    const server = await serve((request, response) => {
      let body = ''
      request.on('data', (piece: Buffer) => (body += piece.toString()))
        .on('end', () => response.end(`${request.url} ${body}`))
    })
    const { net, handle } = await fetching(server)
    const url = `${server.base}/?q=${encodeURIComponent(handle)}`
    const answer = await (await net.fetch(url, { method: 'POST', body: handle })).text()
    expect(answer).toContain(handle)
    expect(answer).not.toContain(SECRET)
  })
})

describe('a response that contains the value', () => {
  it('is redacted across chunks, in compressed bodies, in every call, and in its URL', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync(`<${SECRET}>`))
      else if (request.url === '/away') response.writeHead(302, { location: `/?token=${SECRET}` }).end()
      else if (request.url === '/pieces') {
        const letters = [...`<${SECRET}><${SECRET}>`]
        const next = (): void => {
          if (letters.length === 0) response.end()
          else response.write(letters.shift()!, () => setImmediate(next))
        }
        next()
      } else response.end(`kept: ${SECRET}`)
    })
    const { net, handle } = await fetching(server)
    await net.fetch(`${server.base}/`, { headers: { authorization: handle } })
    expect(await (await net.fetch(`${server.base}/gzip`)).text()).toBe(`<${REDACTED}>`)
    expect(await (await net.fetch(`${server.base}/pieces`)).text()).toBe(`<${REDACTED}><${REDACTED}>`)
    expect(await (await net.fetch(`${server.base}/`)).text()).toBe(`kept: ${REDACTED}`)
    expect((await net.fetch(`${server.base}/away`)).url).toBe(`${server.base}/?token=${REDACTED}`)
    expect((await net.fetch(`${server.base}/away`, { redirect: 'manual' })).headers['location'])
      .toBe(`/?token=${REDACTED}`)
  })

  it('is redacted in the host name of a redirect', async () => {
    const server = await serve((request, response) =>
      void response.writeHead(302, { location: `http://${request.headers.authorization}.test/` }).end())
    const { net, handle } = await fetching(server)
    const refused = await net.fetch(`${server.base}/`, { headers: { authorization: handle } })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'CapabilityDenied', data: { host: `${REDACTED}.test` } })
    expect(String(refused)).toContain(REDACTED)
    expect(String(refused)).not.toContain(SECRET)
  })

  it('is unchanged from other hosts, and from its own host before the first use', async () => {
    const answer = (_request: IncomingMessage, response: ServerResponse): void => {
      response.setHeader('x-key', SECRET).end(`guessed: ${SECRET}`)
    }
    const [mine, other] = [await serve(answer), await serve(answer)]
    const { net, handle } = await fetching(mine, other)
    const shown = async (server: Loopback, headers = {}): Promise<readonly (string | undefined)[]> => {
      const response = await net.fetch(`${server.base}/`, { headers })
      return [response.headers['x-key'], await response.text()]
    }
    expect(await shown(mine)).toEqual([SECRET, `guessed: ${SECRET}`])
    expect(await shown(mine, { authorization: handle })).toEqual([REDACTED, `guessed: ${REDACTED}`])
    expect(await shown(mine)).toEqual([REDACTED, `guessed: ${REDACTED}`])
    expect(await shown(other)).toEqual([SECRET, `guessed: ${SECRET}`])
  })

  it('is redacted in a body that was open before the first use', async () => {
    const open: ServerResponse[] = []
    const server = await serve((request, response) => {
      if (request.url !== '/log') return void response.end()
      open.push(response)
      response.write('begun\n')
    })
    const { net, handle } = await fetching(server)
    const pieces = (await net.fetch(`${server.base}/log`)).body[Symbol.asyncIterator]()
    const next = async (): Promise<string> => Buffer.from(await pieces.next().then(({ value }) => value as Uint8Array))
      .toString()
    expect(await next()).toBe('begun\n')
    await net.fetch(`${server.base}/`, { headers: { authorization: handle } })
    open[0]!.end(`got ${server.requests[1]!.headers.authorization}\n`)
    expect(await next()).toBe(`got ${REDACTED}\n`)
  })

  it('is redacted after a redirect from its host to another', async () => {
    const other = await serve((_request, response) => response.end(`known here too: ${SECRET}`))
    const mine = await serve((_request, response) =>
      void response.writeHead(302, { location: `${other.base}/end` }).end())
    const { net, handle } = await fetching(mine, other)
    const response = await net.fetch(`${mine.base}/`, { headers: { authorization: handle } })
    expect([response.url, await response.text()]).toEqual([`${other.base}/end`, `known here too: ${REDACTED}`])
  })

  it('arrives line by line, and does not time out while bytes arrive', async () => {
    const lines = ['data: 1\n\n', 'data: 2\n\n']
    const server = await serve((request, response) => {
      if (request.url === '/slow') {
        let left = 40
        const more = (): void => void (left-- === 0 ? response.end() : response.write('.', () => setTimeout(more, 20)))
        more()
      } else response.write(lines[0])
    })
    const { net } = await fetching(server, { limits: { idleMs: 500 } })
    // Fewer bytes than the secret has, for longer than the idle timeout.
    expect(await (await net.fetch(`${server.base}/slow`)).text()).toBe('.'.repeat(40))
    for await (const piece of (await net.fetch(`${server.base}/`)).body) {
      expect(Buffer.from(piece).toString()).toBe(lines[0])
      break
    }
  })

  it('is otherwise unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256))
    const server = await serve((_request, response) => response.end(bytes))
    const { net, handle } = await fetching(server)
    await net.fetch(`${server.base}/`, { headers: { authorization: handle } })
    expect(Buffer.from(await (await net.fetch(`${server.base}/`)).bytes()).equals(bytes)).toBe(true)
    const half = await serve((_request, response) => response.end(SECRET.slice(0, -1)))
    const other = await fetching(half)
    const headers = { authorization: other.handle }
    expect(await (await other.net.fetch(`${half.base}/`, { headers })).text()).toBe(SECRET.slice(0, -1))
  })
})
