import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { createAuthority } from '../../src/net/keys/authority.ts'

/** What a client that trusts the authority says about a certificate of it, and the subject of that. */
async function connectTo(host: string) {
  const authority = createAuthority(['api.test', 'other.test'])
  const server = createServer({ SNICallback: (name, done) => done(null, authority.identityOf(name)) }, (socket) =>
    socket.end(),
  ).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => undefined)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect({
    port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername: host, ca: authority.certificate,
  })
  const verdict = await once(socket, 'secureConnect').then(() => 'trusted', ({ message }: Error) => message)
  const subject = socket.getPeerX509Certificate()?.subject
  socket.destroy()
  return { verdict, subject }
}

it.each([
  ['api.test', 'trusted'], ['other.test', 'trusted'], ['bank.test', 'permitted subtree violation'],
  ['test', 'permitted subtree violation'],
])('an authority for api.test and other.test vouches for %s: %s', async (host, verdict) => {
  expect(await connectTo(host)).toMatchObject({ verdict })
})

it('vouches for a host with a long name, which a subject has no room for', async () => {
  const host = `${'a'.repeat(60)}.api.test`
  expect(await connectTo(host)).toEqual({ verdict: 'trusted', subject: `CN=${host.slice(0, 64)}` })
})
