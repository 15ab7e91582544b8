import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { RequestListener } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { checkedConnector } from '../../src/net/connect.ts'
import { HostAllowList } from '../../src/hosts/url-policy.ts'
import type { NetOptions } from '../../src/net/net.ts'
import {
  callOf, codeOf, fetchRaw, listen, newNet, reach, refusal, errorWith, serve, type Listening,
} from './loopback.ts'

const pem = (name: string): Promise<string> => readFile(new URL(`fixtures/${name}.pem`, import.meta.url), 'utf8')
const [key, cert] = [await pem('key'), await pem('certificate')]

const secure = (listener: RequestListener): Promise<Listening> => listen(createServer({ key, cert }, listener))

/** Every name resolves to this machine, which the grants list by its address. */
const local: NetOptions = { lookup: async () => ['127.0.0.1'], ca: cert }

describe('a connection over TLS', () => {
  it('goes to the checked address and sends the requested name', async () => {
    const names: unknown[] = []
    const { port } = await secure((request, response) => {
      const { servername, alpnProtocol } = request.socket as TLSSocket & { readonly servername: unknown }
      names.push(servername, alpnProtocol, request.headers.host)
      response.end('secure')
    })
    const tool = reach(newNet(local), callOf([`secure.test:${port}`, `127.0.0.1:${port}`]))
    const response = await tool.fetch(`https://secure.test:${port}/`)
    expect(await response.text()).toBe('secure')
    expect(names).toEqual(['secure.test', 'http/1.1', `secure.test:${port}`])
  })

  it('works for an address without a name', async () => {
    const { place } = await secure((_request, response) => response.end('secure'))
    expect(await (await reach(newNet(local), callOf([place])).fetch(`https://${place}/`)).text()).toBe('secure')
  })

  it('requires a trusted certificate for the name', async () => {
    const { port } = await secure((_request, response) => response.end('secure'))
    const hosts = [`secure.test:${port}`, `wrong.test:${port}`, `127.0.0.1:${port}`]
    expect(await refusal(fetchRaw(newNet(local), callOf(hosts), `https://wrong.test:${port}/`))).toMatchObject({
      code: 'ToolExecutionFailed', message: 'The host wrong.test has a certificate for other names.',
    })
    expect(await refusal(
      fetchRaw(newNet({ ...local, ca: '' }), callOf(hosts), `https://secure.test:${port}/`),
    )).toMatchObject({
      code: 'ToolExecutionFailed', message: 'The host secure.test could not be authenticated over TLS.',
    })
  })

  it('is verified whatever the environment variables say', async () => {
    const { port } = await secure((_request, response) => response.end('secure'))
    const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const call = callOf([`secure.test:${port}`, `127.0.0.1:${port}`])
      const error = await refusal(
        fetchRaw(newNet({ lookup: async () => ['127.0.0.1'] }), call, `https://secure.test:${port}/`),
      )
      expect(error.message).toBe('The host secure.test could not be authenticated over TLS.')
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })

  it('is not left by a redirect to http', async () => {
    const plain = await serve((_request, response) => response.end('plain'))
    const location = `http://secure.test:${plain.port}/`
    const { port } = await secure((_request, response) => response.writeHead(302, { location }).end())
    const call = callOf([
      `secure.test:${port}`, `secure.test:${plain.port}`, `127.0.0.1:${port}`, `127.0.0.1:${plain.port}`,
    ])
    const error = await refusal(fetchRaw(newNet(local), call, `https://secure.test:${port}/`))
    expect(error).toMatchObject(errorWith('CapabilityDenied', 'redirects from https to http'))
    expect(plain.sockets).toHaveLength(0)
  })

  it('fails if only one side uses TLS', async () => {
    const plain = await serve((_request, response) => response.end())
    const { place } = await secure((_request, response) => response.end())
    expect(await codeOf(fetchRaw(newNet(local), callOf([plain.place]), `https://${plain.place}/`)))
      .toBe('ToolExecutionFailed')
    expect(await codeOf(fetchRaw(newNet(local), callOf([place]), `http://${place}/`))).toBe('ToolExecutionFailed')
  })
})

describe('a connection', () => {
  it('is checked by the connector itself, whatever was checked before', async () => {
    const server = await serve((_request, response) => response.end())
    const connect = checkedConnector({
      scope: new HostAllowList(['a.test']), lookup: async () => ['127.0.0.1'], ca: undefined, timeoutMs: 1_000,
      sockets: new Set(),
    })
    const made = (hostname: string): Promise<unknown> => new Promise((resolve, reject) => {
      connect({ hostname, protocol: 'http:', port: `${server.port}` }, (...[error, socket]) => {
        if (error === null) resolve(socket)
        else reject(error)
      })
    })
    for (const host of ['127.0.0.1', '::1', 'a.test', 'localhost']) {
      expect(await codeOf(made(host)), host).toBe('CapabilityDenied')
    }
    expect(server.sockets).toHaveLength(0)
  })

  it('tries every address of a name', async () => {
    const server = await serve((_request, response) => response.end('there'))
    const net = newNet({ lookup: async () => ['127.0.0.9', '127.0.0.1'] })
    const call = callOf([`a.test:${server.port}`, server.place, `127.0.0.9:${server.port}`])
    expect(await (await reach(net, call).fetch(`http://a.test:${server.port}/`)).text()).toBe('there')
  })

  it('reaches localhost through the resolver of the system', async () => {
    const server = await serve((_request, response) => response.end('there'))
    const place = `localhost:${server.port}`
    expect(await (await reach(newNet(), callOf([place])).fetch(`http://${place}/`)).text()).toBe('there')
  })
})
