import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'

export interface Loopback {
  /** Host and port, as in a grant. */
  readonly place: string
  readonly base: string
  readonly requests: IncomingMessage[]
}

/** Starts a local server for the tests of a file. */
export async function serve(answer: RequestListener): Promise<Loopback> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { place, base: `http://${place}`, requests }
}
