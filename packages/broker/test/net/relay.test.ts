import { existsSync, statSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openRelay, RELAY_SOCKET, type Relay } from '../../src/net/relay.ts'

let service: Server
let port: number
let seen: IncomingMessage[]
let refused: string[]
let relay: Relay
let lookups: string[]
beforeEach(async () => {
  seen = []
  refused = []
  lookups = []
  service = createServer((incoming, response) => {
    seen.push(incoming)
    void text(incoming).then((body) =>
      response.setHeader('x-own', 'kept').end(`${incoming.method} ${incoming.url} ${body}`),
    )
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => service.once('listening', resolve))
  port = (service.address() as AddressInfo).port
  relay = await openRelay({
    hosts: [`api.test:${port}`, `rebind.test:${port}`, `127.0.0.1:${port}`, '*.wide.test'],
    onRefused: (line) => refused.push(line),
    async lookup(host) {
      lookups.push(host)
      return host === 'rebind.test' ? ['127.0.0.1', '169.254.169.254'] : ['127.0.0.1']
    },
  })
})
afterEach(async () => {
  await relay.close()
  service.close()
})

const socketPath = () => join(relay.folder, RELAY_SOCKET)
const send = (path: string, more: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
  new Promise<{ status: number; body: string; headers: IncomingMessage['headers'] }>((resolve, reject) => {
    const outgoing = request(
      { socketPath: socketPath(), path, method: more.method ?? 'GET', headers: more.headers ?? {} },
      (response) => {
        void text(response).then((body) => resolve({ status: response.statusCode!, body, headers: response.headers }))
      },
    ).on('error', reject)
    outgoing.end(more.body)
  })
const raw = (bytes: string) => new Promise<string>((resolve) => {
  const socket = connect(socketPath(), () => socket.write(bytes))
  let received = ''
  socket
    .on('data', (chunk) => {
      received += String(chunk)
    })
    .on('close', () => resolve(received))
    .on('error', () => undefined)
})

it('forwards requests to granted hosts, resolves each name once, and removes headers for proxies', async () => {
  const headers = { 'proxy-authorization': 'Basic x', 'host': 'evil.test', 'x-own': 'a' }
  expect(await send(`http://api.test:${port}/path?q=1`, { method: 'POST', headers, body: 'data' }))
    .toMatchObject({ status: 200, body: 'POST /path?q=1 data', headers: { 'x-own': 'kept' } })
  expect(seen[0]!.headers).toMatchObject({ 'host': `api.test:${port}`, 'x-own': 'a' })
  expect(seen[0]!.headers).not.toHaveProperty('proxy-authorization')
  expect(lookups).toEqual(['api.test'])
})

it('opens a tunnel to granted hosts', async () => {
  const answer = await raw(
    `CONNECT api.test:${port} HTTP/1.1\r\nhost: x\r\n\r\nGET /inner HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*GET \/inner/)
})

it('refuses other hosts, ports, addresses and schemes, and reports each host once', async () => {
  const urls = [
    'http://other.test/', `http://api.test:${port + 1}/`, 'http://169.254.169.254/latest',
    `http://rebind.test:${port}/`, 'http://a.wide.test/', `https://api.test:${port}/`, `ftp://api.test:${port}/`,
    `http://me:word@api.test:${port}/`, '/path', `http://[::1]:${port}/`,
  ]
  const statuses = await Promise.all([...urls, urls[0]!].map(async (url) => (await send(url)).status))
  expect(statuses).toEqual(statuses.map(() => 403))
  expect(refused.filter((line) => line.includes('other.test'))).toHaveLength(1)
  for (const target of [
    'other.test:443', `rebind.test:${port}`, '169.254.169.254:80', `127.0.0.1:${port + 1}`, 'a b',
  ]) {
    expect(await raw(`CONNECT ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 40[03] /)
  }
  expect(seen).toEqual([])
})

it('limits its reports, keeps its socket to this user, and removes it when it closes', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, index) => send(`http://host-${index}.test/`)))
  expect(refused).toHaveLength(20)
  expect(statSync(relay.folder).mode & 0o077).toBe(0)
  await relay.close()
  expect(existsSync(relay.folder)).toBe(false)
})

it('accepts 256 connections, and another one when one of them has ended', async () => {
  const open = await Promise.all(Array.from({ length: 256 }, () => new Promise<Socket>((resolve, reject) => {
    const socket = connect(socketPath(), () => resolve(socket)).on('error', reject)
  })))
  const hello = `CONNECT api.test:${port} HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n`
    + `connection: close\r\n\r\n`
  expect(await raw(hello)).toBe('')
  open[0]!.destroy()
  await expect.poll(() => raw(hello)).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of open) socket.destroy()
})
