import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as connectTls, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import type { KeyGrant, KeyUse } from '@bulkhead/contract'
import { onTestFinished } from 'vitest'
import { createAuthority } from '../../src/net/keys/authority.ts'
import { openRelay, RELAY_SOCKET, type Relay } from '../../src/net/relay.ts'

/** No part of it is in a test's other texts. */
export const KEY = 'ghp_Zq81TnVb64KdMw0RyXc3HsLpQe7UjAf2GoEi'

export interface KeyHost {
  readonly host: string
  readonly placeholder: string
  readonly relay: Relay
  readonly uses: KeyUse[]
  readonly lines: string[]
  /** What the host received. */
  readonly seen: IncomingMessage[]
  readonly server: ReturnType<typeof createServer>
  /** A TLS connection through the relay, as a process in the jail opens it. */
  open(options?: {
    readonly servername?: string
    readonly ALPNProtocols?: string[]
    readonly ca?: []
    readonly rejectUnauthorized?: boolean
    readonly to?: string
  }): Promise<TLSSocket>
  send(path: string, more?: Sent): Promise<Answer>
}

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A host behind TLS, and a relay with a key for it. `isTrusted`: whether this process trusts its certificate. */
export async function keyHost(
  listener: RequestListener, { isTrusted = true, ...grant }: Partial<KeyGrant> & { readonly isTrusted?: boolean } = {},
): Promise<KeyHost> {
  const outside = createAuthority(['api.test', 'other.test'])
  if (isTrusted) trust(outside.certificate)
  const seen: IncomingMessage[] = []
  const server = createServer(
    { SNICallback: (name, done) => done(null, outside.identityOf(name)) },
    (request, response) => {
      seen.push(request)
      listener(request, response)
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const host = `api.test:${port}`
  const [uses, lines]: [KeyUse[], string[]] = [[], []]
  const relay = await openRelay({
    hosts: [host, `other.test:${port}`, `127.0.0.1:${port}`], lookup: async () => ['127.0.0.1'],
    keys: [
      {
        name: 'TOKEN', value: KEY, host, header: 'Authorization', methods: ['GET', 'POST'], paths: ['/v1/**'], ...grant,
      },
    ],
    onRefused: (refused) => lines.push(refused), onKeyFault: (line) => lines.push(line),
    onKeyUse: (use) => uses.push(use),
  })
  onTestFinished(async () => {
    await relay.close()
    server.closeAllConnections()
    server.close()
  })
  const open: KeyHost['open'] = async ({ to = host, ...options } = {}) => {
    const asked = httpRequest({ socketPath: join(relay.folder, RELAY_SOCKET), method: 'CONNECT', path: to })
    asked.end()
    const [, socket] = await once(asked, 'connect') as [IncomingMessage, Socket]
    const secure = connectTls({
      socket, servername: to.split(':')[0]!, ca: readFileSync(join(relay.folder, 'authority.pem')), ...options,
    })
    await once(secure, 'secureConnect').catch((error: unknown) => {
      socket.destroy()
      throw error
    })
    secure.on('error', () => undefined)
    return secure
  }
  return {
    host, relay, uses, lines, seen, server, open, placeholder: relay.variables('/inside')['TOKEN']!,
    async send(path, { method = 'GET', headers = {}, body } = {}) {
      const socket = await open()
      const asked = httpRequest({ method, path, headers: { host, ...headers }, createConnection: () => socket })
      asked.end(body)
      const [response] = await once(asked, 'response') as [IncomingMessage]
      return { status: response.statusCode!, headers: response.headers, body: await text(response) }
    },
  }
}

interface AuthorizedOptions {
  /** Where it listens. Default: its name. */
  readonly address?: string
  readonly answer?: (authorization: string | undefined) => string
}

/** A host that says which authorization it got, with a certificate that this process trusts. */
export async function authorizedHost(
  name: string, { address = name, answer = (authorization) => `You sent ${authorization}.` }: AuthorizedOptions = {},
) {
  const authority = createAuthority([name])
  trust(authority.certificate)
  const received: (string | undefined)[] = []
  const server = createServer(
    { SNICallback: (asked, done) => done(null, authority.identityOf(asked)) },
    ({ headers }, response) => {
      received.push(headers.authorization)
      response.setHeader('x-echo', headers.authorization ?? '').end(answer(headers.authorization))
    },
  ).listen(0, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: `${name}:${port}`, port, received }
}

function trust(certificate: string): void {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, certificate])
  onTestFinished(() => setDefaultCACertificates(before))
}
