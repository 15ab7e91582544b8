import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveToolsOverHttp, type HttpServeOptions, type HttpServing } from '@bulkhead/bridges/mcp'
import { createHost, type CreateHostOptions, type Host, type SessionOptions } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { writeExtension } from '../extension-folder.ts'

export const TOKENS = ['first-token-of-two', 'second-token-of-two']

/** A host whose tools are served over HTTP. */
export class HttpWorld {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-http-')))
  readonly ending: (() => unknown)[] = []
  host!: Host

  async open(options: Pick<CreateHostOptions, 'store'> = {}): Promise<this> {
    const [workspace, home] = [join(this.folder, 'work'), join(this.folder, 'home')]
    mkdirSync(workspace)
    writeExtension(home, {
      id: 'talk', tools: [
        { name: 'wait' }, { name: 'count' }, { name: 'greet', requires: { capabilities: ['interact'] } },
      ],
    }, `export default { tools: {
      wait: { execute: (args, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))) },
      count: { execute: (args, { progress }) => { progress('one'); return 'counted' } },
      greet: { execute: async (args, { interact }) => 'Hello ' + await interact.ask('Who?') },
    } }`)
    this.host = await createHost({
      workspace, home, cache: CACHE, trust: 'declined',
      config: { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0 } } }, ...options,
    })
    return this
  }

  /** Serves, and counts the open sessions. */
  async serve({ session, ...options }: Partial<HttpServeOptions> & { readonly session?: SessionOptions } = {}) {
    const open = new Set<string>()
    const faults: string[] = []
    const serving = await serveToolsOverHttp(this.host, {
      info: { name: 'bulkhead', version: '1.0.0' }, tokens: TOKENS, onFault: ({ message }) => void faults.push(message),
      openSession: async (interactor) => {
        const opened = await this.host.openSession({ ...session, interactor })
        open.add(opened.id)
        return {
          ...bound(opened),
          close: async () => {
            await opened.close()
            open.delete(opened.id)
          },
        }
      },
      ...options,
    })
    this.ending.push(() => serving.close())
    return { serving, open, faults }
  }

  async endAll(): Promise<void> {
    for (const end of this.ending.splice(0).toReversed()) await end()
  }

  async close(): Promise<void> {
    await this.host.close()
    rmSync(this.folder, { recursive: true })
  }
}

const bound = (session: Awaited<ReturnType<Host['openSession']>>) =>
  ({ id: session.id, tools: session.tools.bind(session), call: session.call.bind(session) as never })

export interface Raw {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface RawResponse {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

export const PLAIN = {
  'Authorization': `Bearer ${TOKENS[0]}`, 'Content-Type': 'application/json',
  'Accept': 'application/json, text/event-stream',
}
const HELLO = {
  jsonrpc: '2.0', id: 0, method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}

/** A request of a client that is not honest. Node's fetch does not let a caller set `Host`. */
export const send = (
  { url }: Pick<HttpServing, 'url'>, { method = 'POST', path = '/mcp', headers = {}, body = HELLO }: Raw = {},
) =>
  new Promise<RawResponse>((resolve, reject) => {
    const request = url.startsWith('https') ? httpsRequest : httpRequest
    const req = request(
      new URL(path, url), { method, agent: false, headers: { ...PLAIN, ...headers }, rejectUnauthorized: false },
      (res) => {
        let text = ''
        res.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        res.on('end', () => resolve({ status: res.statusCode!, headers: res.headers, text }))
      },
    )
    req.on('error', reject)
    req.end(method === 'POST' ? (typeof body === 'string' ? body : JSON.stringify(body)) : undefined)
  })

/** Starts a session of the older era. */
export async function sessionOf(serving: Pick<HttpServing, 'url'>, token = TOKENS[0]!) {
  const { status, headers } = await send(serving, { headers: { Authorization: `Bearer ${token}` } })
  return { status, id: String(headers['mcp-session-id']) }
}

/** Sends a request in a session of the older era. */
export const inSession = (serving: Pick<HttpServing, 'url'>, id: string, body: object, token = TOKENS[0]!) =>
  send(serving, {
    headers: { 'Authorization': `Bearer ${token}`, 'Mcp-Session-Id': id }, body: { jsonrpc: '2.0', id: 1, ...body },
  })

/** A request of the newer era, which states what its client supports. */
export function modern(
  method: string, params: Readonly<Record<string, unknown>>, clientCapabilities: object = {}, token = TOKENS[0]!,
): Raw {
  const named = params['name'] ?? params['taskId']
  return {
    headers: {
      'Authorization': `Bearer ${token}`, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method,
      ...(named !== undefined && { 'Mcp-Name': String(named) }),
    },
    body: {
      jsonrpc: '2.0', id: 1, method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
        },
      },
    },
  }
}
