import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client, type ClientOptions, type ElicitRequestFormParams, type ElicitResult,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { serveTools, type ServeOptions } from '@bulkhead/bridges/mcp'
import { createHost, type BulkheadEvent, type CreateHostOptions, type SessionOptions } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS } from '../extension-folder.ts'

export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]

/** The answer of the user of a client. */
export type Person = (form: ElicitRequestFormParams) => ElicitResult | Promise<ElicitResult>

const negotiation = (era: Era): NonNullable<ClientOptions['versionNegotiation']> =>
  ({ mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } })

export function clientOf(era: Era, person?: Person, more: ClientOptions = {}): Client {
  const capabilities = person ? { elicitation: { form: {} } } : {}
  const client = new Client(
    { name: 'editor', version: '1.2.3' }, { capabilities, versionNegotiation: negotiation(era), ...more },
  )
  if (person) client.setRequestHandler('elicitation/create', ({ params }) => person(params as ElicitRequestFormParams))
  return client
}

/**
 * The transport of the SDK, without the second process that the SDK starts to find the era. The SDK does that for the
 * base class only.
 */
export class OneProcess extends StdioClientTransport {}

export interface ServedWorldOptions extends Partial<CreateHostOptions> {
  readonly session?: SessionOptions
  readonly serve?: Partial<ServeOptions>
}

/** A host, and a transport to the server that offers its tools in this process. */
export async function servedWorld({ session, serve, ...options }: ServedWorldOptions = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-mcp-')))
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace)
  mkdirSync(home)
  const host = await createHost({
    workspace, home, cache: CACHE, trust: 'declined',
    config: IN_THREADS, ...options,
  })
  const events: BulkheadEvent[] = []
  host.on((event) => void events.push(event))
  const faults: Error[] = []
  const [here, there] = InMemoryTransport.createLinkedPair()
  const serving = await serveTools(host, {
    info: { name: 'bulkhead', version: '1.0.0' }, transport: here, onFault: (error) => void faults.push(error),
    openSession: (interactor) => host.openSession({ ...session, interactor }), ...serve,
  })
  return {
    host, workspace, home, events, faults, serving, transport: there,
    eventsOf: <Type extends BulkheadEvent['type']>(type: Type): Extract<BulkheadEvent, { type: Type }>[] =>
      events.filter((event): event is Extract<BulkheadEvent, { type: Type }> => event.type === type),
    async connect(era: Era, person?: Person, more?: ClientOptions) {
      const client = clientOf(era, person, more)
      await client.connect(there)
      return client
    },
    async end() {
      await serving.close()
      await host.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export type ServedWorld = Awaited<ReturnType<typeof servedWorld>>
