import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CapabilityUse, DryRun } from '@bulkhead/contract'

/** What tools used, and a server that answers for every host. */
export interface Recorder {
  readonly dryRun: DryRun
  readonly uses: readonly CapabilityUse[]
  close(): Promise<void>
}

/** More uses than this are not kept. A tool may use a power any number of times. */
const MOST_USES = 100_000

/** Starts the server. Its answer is an empty JSON object, or a short text for those that want no JSON. */
export async function createRecorder(): Promise<Recorder> {
  const uses: CapabilityUse[] = []
  const server = createServer(({ headers }, response) => {
    const wantsText = /text\/(?:html|plain)/.test(headers.accept ?? '')
    response.writeHead(200, { 'content-type': wantsText ? 'text/plain' : 'application/json' })
    response.end(wantsText ? 'An answer of the conformance suite.' : '{}')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const used = (use: CapabilityUse): void => {
    if (uses.length < MOST_USES) uses.push(use)
  }
  return { uses, dryRun: { used, port }, close: () => closed(server) }
}

const closed = (server: Server): Promise<void> => new Promise((resolve) => {
  server.close(() => resolve())
  server.closeAllConnections()
})
