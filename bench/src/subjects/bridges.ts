import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createHost, type ConfigFile } from 'bulkhead'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

const FILE = 'notes.md'
const CONTENT = 'hello\n'.repeat(100)

/** Reads a small file through a server on standard input and output. */
function reading<const Name extends string>(name: Name, argumentsOf: (folder: string) => readonly string[]) {
  return {
    name,
    answer: () => CONTENT,
    start: async (): Promise<Runner> => {
      await using started = new AsyncDisposableStack()
      const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      started.defer(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, FILE), CONTENT)
      const client = new Client({ name: 'bench', version: '1.0.0' })
      started.defer(() => client.close())
      await client.connect(new StdioClientTransport({
        command: process.execPath, args: [...argumentsOf(folder)], cwd: folder, env: { HOME: folder }, stderr: 'ignore',
      }))
      const everything = started.move()
      return {
        run: async () => {
          const result = await client.callTool({ name: 'read', arguments: { path: FILE } })
          return (result.structuredContent as { readonly content?: unknown } | undefined)?.content
        },
        stop: () => everything.disposeAsync(),
      }
    },
  } as const satisfies Side<Name>
}

const resolved = (specifier: string): string => fileURLToPath(import.meta.resolve(specifier))

export const bridgesServe = defineSubject({
  title: 'A bundled tool through an MCP server on standard input and output',
  compares: 'Reading a small file with `bulkhead mcp`, with policy, journal and audit, against the same '
    + 'function in a server of the official SDK, without them.',
  sides: [
    reading('bare SDK server', () => [fileURLToPath(new URL('../peers/read.ts', import.meta.url))]),
    reading('bulkhead mcp', (folder) => [
      join(resolved('bulkhead'), '../bin.ts'), 'mcp', '--workspace', folder, '--home', join(folder, 'home'), '--mode', 'yolo',
    ]),
  ],
  modes: [{ kind: 'latency' }],
  // Each call crosses two pipes, so the scheduler has a large part in it.
  rounds: 120,
  ratios: [{ side: 'bulkhead mcp', measure: 'p50', against: 'bare SDK server', is: '≤', ratio: 1.3 }],
})

const SERVERS = 25
const TOOLS = 20
const MOST_MS = 100

type McpConfig = NonNullable<ConfigFile['mcp']>

const openWith = (folder: string, mcp: McpConfig) => createHost({
  workspace: join(folder, 'workspace'), home: join(folder, 'home'), discover: 'when-asked', config: { mcp },
})

/** Lists the tools of 25 servers once, so that they are in the cache of the home. The servers are gone then. */
async function rememberServers(folder: string): Promise<McpConfig> {
  const tools = Array.from({ length: TOOLS }, (_, index) => ({
    name: `tool${index}`, description: `Adds ${index}.`, inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
  }))
  const results: Readonly<Record<string, object>> = {
    'tools/list': { tools },
    'initialize': {
      protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1.0.0' },
    },
  }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method } = JSON.parse(await text(request)) as { readonly id?: number; readonly method: string }
    if (id === undefined) return void response.writeHead(202).end()
    const body = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const mcp: McpConfig = Object.fromEntries(Array.from({ length: SERVERS }, (_, index) =>
    [`server${index}`, { type: 'remote', url: `http://127.0.0.1:${port}/${index}` }]))
  const host = await openWith(folder, mcp)
  await host.mcp.connect()
  await host.close()
  server.closeAllConnections()
  server.close()
  return mcp
}

/** Opens a host whose servers are not running, and lists their tools. */
const listing = {
  name: '25 servers, none started',
  answer: () => SERVERS * TOOLS,
  start: async (): Promise<Runner> => {
    const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
    await mkdir(join(folder, 'workspace'))
    const mcp = await rememberServers(folder)
    let host: Awaited<ReturnType<typeof openWith>> | undefined
    return {
      run: async () => {
        host = await openWith(folder, mcp)
        return host.tools().filter(({ name }) => /^server\d+_tool\d+$/.test(name)).length
      },
      between: async () => void (await host?.close()),
      stop: async () => {
        await host?.close()
        await rm(folder, { recursive: true, force: true })
      },
    }
  },
} as const satisfies Side

/** The time that it may take. */
const limit = {
  name: '100 ms',
  answer: () => undefined,
  start: async (): Promise<Runner> => ({ run: () => sleep(MOST_MS), stop: async () => undefined }),
} as const satisfies Side

export const bridgesList = defineSubject({
  title: 'Listing the tools of MCP servers that are not started',
  compares: 'Opening a host with 25 configured servers of 20 tools each, whose lists are cached, against 100 ms.',
  sides: [limit, listing],
  modes: [{ kind: 'latency' }],
  ratios: [{ side: '25 servers, none started', measure: 'p50', against: '100 ms', is: '≤', ratio: 1 }],
})
