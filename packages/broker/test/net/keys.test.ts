import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Duplex } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { RELAY_SOCKET } from '../../src/net/relay.ts'
import { KEY, keyHost } from './key-host.ts'

it('sends the key in its header, for its methods and paths, and records each use', async () => {
  const { send, seen, uses, lines, placeholder, host } = await keyHost((_, response) => void response.end('ok'))
  expect(await send('/v1/ships?q=1', { headers: { authorization: `Bearer ${placeholder}` } })).toMatchObject({
    status: 200, body: 'ok',
  })
  expect(
    await send('/v1/group%2Fproject', {
      method: 'POST', headers: { Authorization: `token ${placeholder}` }, body: 'data',
    }),
  ).toMatchObject({ status: 200 })
  const basic = (word: string) => `Basic ${Buffer.from(`me:${word}`).toString('base64')}`
  await send('/v1/basic', { headers: { authorization: basic(placeholder) } })
  expect(seen.map(({ headers, url }) => [url, headers.authorization, headers.host])).toEqual([
    ['/v1/ships?q=1', `Bearer ${KEY}`, host], ['/v1/group%2Fproject', `token ${KEY}`, host],
    ['/v1/basic', basic(KEY), host],
  ])
  expect(uses).toEqual([
    { key: 'TOKEN', host, method: 'GET', path: '/v1/ships' },
    { key: 'TOKEN', host, method: 'POST', path: '/v1/group%2Fproject' },
    { key: 'TOKEN', host, method: 'GET', path: '/v1/basic' },
  ])
  expect(lines).toEqual([])
})

it('leaves a placeholder as it is anywhere else, and reports it', async () => {
  const { send, seen, uses, lines, placeholder } = await keyHost(
    (request, response) => void text(request).then((body) => response.end(body)),
  )
  const authorization = `Bearer ${placeholder}`
  const paths = [
    '/v2/x', '/v1/../admin', '/v1/%2e%2e/admin', '/v1/..%2fadmin', '/v1/%252e%252e/admin', '/v1/..;/admin',
    '/v1/..%5cadmin', '/v1x',
    '/v1/%25252e%25252e/%25252e%25252e', '/v1/%2525252541',
  ]
  for (const path of paths) await send(path, { headers: { authorization } })
  await send('/v1/x', { method: 'DELETE', headers: { authorization } })
  await send('/v1/x', { headers: { 'x-api-key': placeholder } })
  await send(`/v1/x?token=${placeholder}`)
  const { body } = await send('/v1/x', { method: 'POST', body: `${'a'.repeat(70_000)}${placeholder}` })
  expect(body).toMatch(new RegExp(`${placeholder}$`))
  for (const { headers, url } of seen) expect(`${JSON.stringify(headers)} ${url}`).not.toContain(KEY.slice(4, 20))
  expect(uses).toHaveLength(5)
  expect(uses.map(({ refused }) => refused)).toEqual([
    'at a path that its paths do not include', 'in a request with DELETE, which its methods do not include',
    'in the header x-api-key, and it is for authorization only', 'in a URL', 'in a body',
  ])
  expect(lines).toHaveLength(5)
  expect(lines[1]).toMatch(/^The placeholder of the key TOKEN was sent in a request with DELETE.*It is worthless there/)
})

it('limits what it records: long paths, misplaced placeholders, and clients that cannot use the key', async () => {
  const { send, open, uses, lines, placeholder } = await keyHost((_, response) => void response.end())
  await send(`/v1/${'a'.repeat(300)}`, { headers: { authorization: placeholder } })
  expect(uses.map(({ path }) => path)).toEqual([`/v1/${'a'.repeat(252)}`])
  const headers = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`x-${index}`, placeholder]))
  await send('/v1/x', { headers })
  expect([uses.length, lines.length]).toEqual([21, 20])
  for (let index = 0; index < 25; index++) await open({ ALPNProtocols: [`p${index}`] }).catch(() => undefined)
  expect(lines).toHaveLength(40)
})

it('does not open connections to other hosts, and sends no key over http', async () => {
  const { open, seen, uses, host, placeholder, relay } = await keyHost((_, response) => void response.end('ok'))
  const [, port] = host.split(':')
  // The authority of the jail is not the one of that host.
  await expect(open({ to: `other.test:${port}` })).rejects.toMatchObject({
    code: expect.stringMatching(/UNABLE_TO|SELF_SIGNED/),
  })
  const asked = httpRequest({
    socketPath: join(relay.folder, RELAY_SOCKET), path: `http://${host}/v1/x`,
    headers: { authorization: `Bearer ${placeholder}` },
  })
  asked.on('error', () => undefined).end()
  await once(asked, 'response')
  expect(uses).toMatchObject([{ refused: `for http://${host}, and it is for https://${host} only` }])
  expect(seen).toEqual([])
})

it('serves its host only: not another name in TLS, in Host or in the request line, and no tunnel', async () => {
  const { open, seen, host } = await keyHost(
    (request, response) => void text(request).then((body) => response.end(`got ${body}`)),
  )
  for (const servername of ['other.test', '']) {
    await expect(open({ servername, rejectUnauthorized: false }), servername).rejects.toMatchObject({
      code: expect.any(String),
    })
  }
  const raw = async (bytes: string) => {
    const socket = await open()
    socket.write(bytes)
    return text(socket)
  }
  const wrong = [
    'GET /v1/x HTTP/1.1\r\nhost: other.test\r\n\r\n', `GET https://${host}/v1/x HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
    `GET /v1/x HTTP/1.1\r\nhost: ${host}\r\nhost: other.test\r\n\r\n`, 'GET /v1/x HTTP/1.1\r\n\r\n',
    `POST /v1/x HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`
      + `GET /v1/y HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
  ]
  for (const bytes of wrong) expect(await raw(bytes)).toMatch(/^HTTP\/1\.1 400 /)
  expect(await raw(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).toBe('')
  expect(seen).toEqual([])
  // A body of GET is sent as a body, not as the next request.
  const inner = `GET /v1/smuggled HTTP/1.1\r\nhost: ${host}\r\n\r\n`
  expect(await raw(`GET /v1/x HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`
    + `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`))
    .toContain(`got ${inner}`)
  expect(seen.map(({ url }) => url)).toEqual(['/v1/x'])
})

it('does not know the placeholder of another start', async () => {
  const { send, seen, uses } = await keyHost((_, response) => void response.end())
  const { placeholder } = await keyHost((_, response) => void response.end())
  await send('/v1/x', { headers: { authorization: `Bearer ${placeholder}` } })
  expect([seen[0]!.headers.authorization, uses]).toEqual([`Bearer ${placeholder}`, []])
})

const echo: RequestListener = ({ url, headers: { authorization = '' } }, response) => {
  response.setHeader('x-echo', authorization)
  const body = `<${authorization}>`
  if (url === '/v1/zip') return void response.setHeader('content-encoding', 'gzip').end(gzipSync(body))
  if (url === '/v1/odd') return void response.setHeader('content-encoding', 'compress').end(body)
  if (url === '/v1/moved') return void response.writeHead(302, { location: 'https://other.test/?a=1' }).end()
  response.write(body.slice(0, 20))
  setImmediate(() => response.end(body.slice(20)))
}

it.each(['/v1/split', '/v1/zip', '/v1/odd', '/v1/moved'])(
  'removes the key from what the host returns: %s',
  async (path) => {
    const { send, placeholder } = await keyHost(echo)
    const answer = await send(path, { headers: { authorization: `Bearer ${placeholder}` } })
    expect(JSON.stringify(answer)).not.toContain(KEY.slice(4, 20))
    if (path === '/v1/odd')
      return void expect(answer).toMatchObject({ status: 502, body: expect.stringContaining('cannot be searched') })
    expect(answer.headers['x-echo']).toBe('Bearer [REDACTED]')
    if (path === '/v1/moved')
      expect(answer).toMatchObject({ status: 302, headers: { location: 'https://other.test/?a=1' } })
    else expect(answer.body).toBe('<Bearer [REDACTED]>')
  },
)

it('refuses a host whose certificate is not trusted', async () => {
  const { send, seen, placeholder } = await keyHost((_, response) => void response.end('ok'), { isTrusted: false })
  expect(await send('/v1/x', { headers: { authorization: placeholder } }))
    .toMatchObject({ status: 502, body: expect.stringContaining('could not be authenticated over TLS') })
  expect(seen).toEqual([])
})

it('passes events on as they come', async () => {
  const { open, host } = await keyHost(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n'),
  )
  const socket = await open()
  const asked = httpRequest({ path: '/v1/events', headers: { host }, createConnection: () => socket })
  asked.end()
  const [response] = await once(asked, 'response') as [IncomingMessage]
  const [first] = await once(response, 'data') as [Buffer]
  expect(String(first)).toBe('data: one\n\n')
  response.destroy()
})

it('passes many megabytes both ways, and keeps little of it for a client that does not read', LONG, async () => {
  // Buffers of the system take up to 11 MB of it.
  const size = thoroughly(40, 80) * 1024 * 1024
  const { open, host, send } = await keyHost((request, response) => void request.pipe(response))
  const socket = await open()
  const asked = httpRequest({
    method: 'POST', path: '/v1/big', headers: { host, 'content-length': size }, createConnection: () => socket,
  })
  const part = Buffer.alloc(64 * 1024, 'a line of text\n')
  let sent = 0
  const sending = (async () => {
    for (; sent < size; sent += part.length) if (!asked.write(part)) await once(asked, 'drain')
    asked.end()
  })()
  const [response] = await once(asked, 'response') as [IncomingMessage]
  // Until nothing more is taken while other requests pass.
  await expect.poll(async () => {
    const before = sent
    for (let count = 0; count < 2; count++) await send('/v1/other')
    return sent === before
  }).toBe(true)
  expect(sent).toBeLessThan(size / 2)
  let received = 0
  for await (const chunk of response) received += (chunk as Buffer).length
  await sending
  expect(received).toBe(size)
})

it('connects websockets, with the key in the handshake and without it in messages', async () => {
  const { open, server, host, placeholder, uses } = await keyHost((_, response) => void response.end())
  let extensions: string | undefined = 'unset'
  server.on('upgrade', ({ headers }, socket: Duplex) => {
    extensions = headers['sec-websocket-extensions']
    const accept = createHash('sha1')
      .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`
      + `sec-websocket-accept: ${accept}\r\n\r\n`)
    // What the client sends comes back, after the key in two frames of one message.
    const said = Buffer.from(headers.authorization!)
    socket.write(
      Buffer.concat([
        Buffer.from([0x01, 20]), said.subarray(0, 20), Buffer.from([0x80, said.length - 20]), said.subarray(20),
      ]),
    )
    socket.on('data', (masked: Buffer) => socket.write(Buffer.concat([Buffer.from([0x81, masked.length]), masked])))
    socket.on('error', () => undefined)
  })
  const socket = await open()
  socket.write(`GET /v1/live HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`
    + `sec-websocket-version: 13\r\n`
    + `sec-websocket-key: ${Buffer.alloc(16).toString('base64')}\r\nsec-websocket-extensions: permessage-deflate\r\n`
    + `authorization: Bearer ${placeholder}\r\n\r\n`)
  let received = ''
  const until = async (what: string) => {
    while (!received.includes(what)) received += String((await once(socket, 'data') as [Buffer])[0].toString('latin1'))
  }
  await until('[REDACTED]')
  socket.write('ping')
  await until('\x81\x04ping')
  expect(received).toMatch(/^HTTP\/1\.1 101 /)
  expect(received).not.toContain(KEY.slice(4, 20))
  expect(received.split('\r\n\r\n')[1]).toBe('\x81\x11Bearer [REDACTED]\x81\x04ping')
  expect(extensions).toBeUndefined()
  expect(uses).toMatchObject([{ method: 'GET', path: '/v1/live' }])
  socket.destroy()
})

it('answers a websocket that its host refuses, and sends nothing that follows it', async () => {
  const { open, host, seen } = await keyHost((_, response) => void response.writeHead(401).end('no'))
  const socket = await open()
  const upgrade = `host: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`
  socket.write(`GET /v1/live HTTP/1.1\r\n${upgrade}GET /v1/next HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 [\s\S]*no/)
  expect(seen.map(({ url }) => url)).toEqual(['/v1/live'])
})

it('speaks HTTP/1.1 with clients that prefer HTTP/2, and reports those that speak nothing else', async () => {
  const { open, lines, host } = await keyHost((_, response) => void response.end())
  const socket = await open({ ALPNProtocols: ['h2', 'http/1.1'] })
  expect(socket.alpnProtocol).toBe('http/1.1')
  socket.destroy()
  await expect(open({ ALPNProtocols: ['h2'] })).rejects.toMatchObject({
    code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  })
  expect(lines).toContainEqual(expect.stringContaining(`A client speaks h2 to ${host} only`))
})

it('reports a client that does not trust the authority', async () => {
  const { open, lines, host } = await keyHost((_, response) => void response.end())
  await expect(open({ ca: [] })).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
  await expect
    .poll(() => lines)
    .toEqual([expect.stringContaining(`A client closed its connection to ${host} before a request.`)])
})

it('makes an authority for its hosts only, anew with each start', async () => {
  const [one, other] = [
    await keyHost((_, response) => void response.end()), await keyHost((_, response) => void response.end()),
  ]
  const [first, second] = [one, other].map(
    ({ relay }) => new X509Certificate(readFileSync(join(relay.folder, 'authority.pem'))),
  )
  expect(first!.ca).toBe(true)
  expect(first!.fingerprint256).not.toBe(second!.fingerprint256)
  expect(one.placeholder).not.toBe(other.placeholder)
  const variables = one.relay.variables('/inside')
  expect(variables).toMatchObject({
    NODE_EXTRA_CA_CERTS: '/inside/authority.pem', SSL_CERT_FILE: '/inside/authorities.pem',
  })
  expect(
    readFileSync(join(one.relay.folder, 'authorities.pem'), 'utf8').split('BEGIN CERTIFICATE').length,
  ).toBeGreaterThan(10)
})
