import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  agent, client, ndJsonStream, PROTOCOL_VERSION, type ClientApp, type ClientCapabilities, type ClientConnection,
  type RequestPermissionRequest, type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { createHost, type CreateHostOptions, type Outcome, type SessionOptions } from '../../../bulkhead/src/index.ts'
import { CACHE } from '../../../bulkhead/test/cache.ts'
import { connectAcp } from '../../src/acp/index.ts'

/** The option that the person at the client chooses. undefined: the person cancels. */
export type Person = (request: RequestPermissionRequest) => string | undefined | Promise<string | undefined>

export interface WorldOptions {
  readonly person?: Person
  readonly capabilities?: ClientCapabilities
  /** Adds handlers to the client. */
  readonly client?: (app: ClientApp) => ClientApp
  readonly host?: Partial<CreateHostOptions>
  readonly session?: SessionOptions
}

/** An agent whose prompt is a list of calls, and an editor, both of the SDK, with a stream of bytes between them. */
export class World {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-acp-')))
  readonly workspace = join(this.folder, 'work')
  readonly asked: RequestPermissionRequest[] = []
  readonly updates: SessionUpdate[] = []
  readonly outcomes: Outcome[] = []
  /** The session of the agent. */
  session: Awaited<ReturnType<Awaited<ReturnType<typeof createHost>>['openSession']>> | undefined
  #connection: ClientConnection | undefined
  #close: (() => Promise<unknown>) | undefined

  async open({ person, capabilities = {}, client: extend = (app) => app, host: more, session }: WorldOptions = {}) {
    const home = join(this.folder, 'home')
    for (const folder of [this.workspace, home]) mkdirSync(folder)
    const host = await createHost({
      workspace: this.workspace, home, cache: CACHE, trust: 'declined',
      config: { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0 } } }, ...more,
    })
    this.#close = () => host.close()
    let known: ClientCapabilities = {}
    const app = agent({ name: 'agent' })
      .onRequest('initialize', ({ params }) => {
        known = params.clientCapabilities ?? {}
        return { protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} }
      })
      .onRequest('session/new', async ({ params: { cwd }, client: editor }) => {
        const link = connectAcp({ client: editor, sessionId: 's1', cwd, capabilities: known, clientName: 'editor' })
        this.session = await host.openSession({ interactor: link.interactor, client: link.client, ...session })
        link.follow(host, this.session)
        return { sessionId: 's1' }
      })
      .onRequest('session/prompt', async ({ params: { prompt }, signal }) => {
        const calls = JSON.parse((prompt[0] as { readonly text: string }).text) as never
        this.outcomes.push(...await this.session!.callAll(calls, { strategy: 'sequential', signal }))
        return { stopReason: 'end_turn' }
      })
    const editor = extend(client({ name: 'editor' }))
      .onNotification('session/update', ({ params }) => void this.updates.push(params.update))
      .onRequest('session/request_permission', async ({ params }) => {
        this.asked.push(params)
        const optionId = await person?.(params)
        return { outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } }
      })
    const [toAgent, toClient] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()]
    app.connect(ndJsonStream(toClient.writable, toAgent.readable))
    this.#connection = editor.connect(ndJsonStream(toAgent.writable, toClient.readable))
    const { agent: peer } = this.#connection
    await peer.request('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities: capabilities })
    await peer.request('session/new', { cwd: this.workspace, mcpServers: [] })
  }

  /** Makes calls, and returns their outcomes. */
  async call(...calls: readonly (readonly [name: string, args: object])[]): Promise<readonly Outcome[]> {
    const numbered = calls.map(([name, args], index) =>
      ({ id: `c${this.outcomes.length + index + 1}`, name, arguments: args }))
    const before = this.outcomes.length
    await this.#connection!.agent.request(
      'session/prompt', { sessionId: 's1', prompt: [{ type: 'text', text: JSON.stringify(numbered) }] },
    )
    return this.outcomes.slice(before)
  }

  /** The updates of one call, in order. */
  of(toolCallId: string): readonly SessionUpdate[] {
    return this.updates.filter((update) => 'toolCallId' in update && update.toolCallId === toolCallId)
  }

  async end(): Promise<void> {
    this.#connection?.close()
    await this.#close?.()
    rmSync(this.folder, { recursive: true })
  }
}
