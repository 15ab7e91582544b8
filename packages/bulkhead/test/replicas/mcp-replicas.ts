import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport, type Client } from '@modelcontextprotocol/client'
import { BUNDLED } from '../bundled.ts'
import { shareVerified } from '../cache.ts'
import { useThreads, writeExtension } from '../extension-folder.ts'
import { clientOf, type Era, type Person } from '../mcp/served-world.ts'

const BIN = join(import.meta.dirname, '../../src/bin.ts')
export const TOKEN = 'token-of-all-replicas'

export interface McpReplica {
  readonly url: string
  /** Ends it as a lost machine does. */
  kill(): Promise<void>
  /** Asks it to end. */
  stop(): Promise<void>
}

/**
 * Processes of `bulkhead mcp --http` on one home, and clients behind a proxy that asks them in turn. A process takes
 * more than a second of CPU time to start, so tests use those that are left.
 */
export class McpReplicas {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-mcp-replicas-')))
  readonly home = join(this.folder, 'home')
  readonly workspace = join(this.folder, 'work')
  readonly #ending: (() => unknown)[] = []
  #living: readonly McpReplica[] = []
  /** How many requests each replica got from the proxy. */
  readonly counts = new Map<string, number>()
  #next = 0

  constructor() {
    mkdirSync(this.workspace)
    useThreads(this.home)
    writeExtension(this.home, {
      id: 'talk', tools: [
        { name: 'count' }, { name: 'wait' }, { name: 'greet', requires: { capabilities: ['interact'] } },
        { name: 'gated', gated: true },
      ],
    }, `export default { tools: {
      count: { execute: () => 'counted' },
      gated: { execute: () => 'ran', deriveApprovalKey: ({ key = 'gate' }) => key },
      wait: { execute: (_, runtime) => { runtime.progress('begun'); return new Promise(() => {}) } },
      greet: { execute: async (_, { interact }) => 'Hello ' + await interact.ask('Who?') },
    } }`)
    shareVerified(this.home)
  }

  /** Starts what is missing. */
  async living(count: number): Promise<readonly McpReplica[]> {
    // The first one makes the store.
    if (this.#living.length === 0) await this.start()
    await Promise.all(Array.from({ length: Math.max(0, count - this.#living.length) }, () => this.start()))
    return this.#living.slice(0, count)
  }

  async start(): Promise<McpReplica> {
    const args = [...BUNDLED, BIN, 'mcp', '--http', '--port', '0', '--workspace', this.workspace, '--home', this.home]
    const env = {
      NO_COLOR: '1', HOME: this.folder, BULKHEAD_MCP_TOKEN: TOKEN,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const ended = once(child, 'close')
    const end = async (signal: NodeJS.Signals) => {
      this.#living = this.#living.filter((one) => one !== replica)
      child.kill(signal)
      await ended
    }
    const url = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stderr.setEncoding('utf8').on('data', (more: string) => {
        text += more
        const [, found] = /Serving MCP at (\S+)\n/.exec(text) ?? []
        if (found !== undefined) resolve(found)
      })
      void ended.then(() => reject(new Error(`The replica ended: ${text}`)))
    })
    const replica: McpReplica = { url, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
    this.#living = [...this.#living, replica]
    return replica
  }

  /** The proxy asks each replica in turn, and the next one if nothing listens. */
  async proxy(): Promise<string> {
    this.counts.clear()
    const server = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => pass(0))
      const pass = (tries: number): void => {
        const { url } = this.#living[this.#next++ % this.#living.length]!
        const { host: _, connection: __, ...headers } = req.headers
        const sent = request(url, { method: req.method, headers, agent: false }, (response) => {
          this.counts.set(url, (this.counts.get(url) ?? 0) + 1)
          res.writeHead(response.statusCode!, response.headers)
          res.flushHeaders()
          response.pipe(res)
          response.on('error', () => res.destroy())
        })
        sent.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'ECONNREFUSED' && tries < this.#living.length) pass(tries + 1)
          else res.destroy()
        })
        res.on('close', () => sent.destroy())
        sent.end(Buffer.concat(chunks))
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#ending.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  async connect(
    url: string, era: Era, person?: Person,
  ): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
    const client = clientOf(era, person)
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
    })
    await client.connect(transport)
    this.#ending.unshift(() => client.close().catch(() => undefined))
    return { client, transport }
  }

  /** Ends the clients and the proxies. */
  async disconnect(): Promise<void> {
    for (const end of this.#ending.splice(0)) await end()
  }

  async end(): Promise<void> {
    await this.disconnect()
    await Promise.all(this.#living.map((one) => one.kill()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}
