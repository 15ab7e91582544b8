import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { ANSWER_LIMITS } from '@bulkhead/contract'

/** Pages. undefined: nothing is at that address. */
export interface Pages {
  fetch(request: Request): Promise<Response | undefined>
}

/** Serves links on loopback. A proxy with a certificate makes them reachable from elsewhere. */
export async function serveAnswers(links: () => Pages, port: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(links(), request, response).catch(() => response.destroy())
  })
  server.headersTimeout = ANSWER_LIMITS.headersMs
  server.requestTimeout = ANSWER_LIMITS.requestMs
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) }
}

async function answer(links: Pages, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = 'GET', headers: { host = '' }, url = '/' } = incoming
  const address = URL.parse(url, `http://${host}`)
  if (!address) return void outgoing.writeHead(400).end()
  const headers = new Headers(Object.entries(incoming.headers).flatMap(([name, value]) => typeof value === 'string' ? [[name, value]] : []))
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const request = new Request(address, {
    method, headers, ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' as const }),
  })
  const response = await links.fetch(request) ?? new Response('Nothing is here.', { status: 404 })
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(method === 'HEAD' ? undefined : Buffer.from(await response.arrayBuffer()))
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
