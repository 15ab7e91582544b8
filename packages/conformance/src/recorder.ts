import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CapabilityUse, DryRun } from '@bulkhead/contract'
import { commandAnswerOf, httpAnswerOf, type Fixtures, type HttpAnswer } from './fixtures.ts'

/** What tools used, and a server that answers for every host. */
export interface Recorder {
  readonly dryRun: DryRun
  readonly uses: readonly CapabilityUse[]
  /** What is used during this work, which is not added to `uses`. Nothing else may run meanwhile. */
  aside(work: () => Promise<unknown>): Promise<readonly CapabilityUse[]>
  close(): Promise<void>
}

/** More uses than this are not kept. A tool may use a power any number of times. */
const MOST_USES = 100_000

/**
 * Starts the server. It answers as the fixtures say. A host that they do not name answers with an empty JSON object, or
 * with a short text if the client wants no JSON.
 */
export async function createRecorder(fixtures?: Fixtures): Promise<Recorder> {
  const uses: CapabilityUse[] = []
  const server = createServer((request, response) => {
    const { headers: { host = '' }, method = 'GET', url = '/' } = request
    const answer = fixtures && httpAnswerOf(fixtures, { host, method, url })
    if (answer) send(answer, response)
    else sendDefault(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  let taking = uses
  const used = (use: CapabilityUse): void => {
    if (taking.length < MOST_USES) taking.push(use)
  }
  const aside: Recorder['aside'] = async (work) => {
    const own: CapabilityUse[] = []
    taking = own
    try {
      await work()
      return own
    } finally {
      taking = uses
    }
  }
  const command: DryRun['command'] = (cmd, args) => fixtures && commandAnswerOf(fixtures, cmd, args)
  return { uses, dryRun: { used, port, command }, aside, close: () => closed(server) }
}

function send({ status = 200, headers = {}, body }: HttpAnswer, response: ServerResponse): void {
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers })
  response.end(body === undefined ? '' : isText ? body : JSON.stringify(body))
}

function sendDefault({ headers }: IncomingMessage, response: ServerResponse): void {
  const wantsText = /text\/(?:html|plain)/.test(headers.accept ?? '')
  response.writeHead(200, { 'content-type': wantsText ? 'text/plain' : 'application/json' })
  response.end(wantsText ? 'An answer of the conformance suite.' : '{}')
}

const closed = (server: Server): Promise<void> => new Promise((resolve) => {
  server.close(() => resolve())
  server.closeAllConnections()
})
