import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Worker } from './worker.ts'

const STATES = { true: 503, false: 200 } as const

/** Answers `GET /health` on the loopback interface: 200 while the worker takes calls, 503 while it drains. */
export async function serveHealth(worker: Worker, port: number): Promise<{ readonly port: number; close(): void }> {
  const server: Server = createServer((request, response) => {
    const { info, load, isDraining } = worker
    const isHealth = request.method === 'GET' && request.url === '/health'
    const body = isHealth ? { state: isDraining ? 'draining' : 'ready', load, ...info } : { error: 'There is only GET /health.' }
    response.writeHead(isHealth ? STATES[`${isDraining}`] : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
