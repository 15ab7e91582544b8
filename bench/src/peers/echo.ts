// Returns what it receives, as a thread or as a child process. Each kind imports only what it needs.
import { Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import type { EchoArguments } from '../loads/echo.ts'

/** raw and comlink: a thread. framed: a process with a socket as file descriptor 3. mcp: a process with stdio. */
export type EchoKind = 'raw' | 'comlink' | 'framed' | 'mcp'

const peer = { echo: (args: EchoArguments): EchoArguments => args }
export type EchoPeer = typeof peer

const KINDS: Readonly<Record<EchoKind, () => Promise<void>>> = {
  async raw() {
    parentPort?.on('message', (message) => parentPort?.postMessage(message))
  },
  async comlink() {
    const { expose } = await import('comlink')
    const { default: nodeEndpoint } = await import('comlink/dist/esm/node-adapter.mjs')
    expose(peer, nodeEndpoint(parentPort!))
  },
  async framed() {
    const { framed, FrameReader } = await import('../loads/framed-text.ts')
    const socket = new Socket({ fd: 3 })
    const reader = new FrameReader((text) => void socket.write(framed(text)))
    socket.on('data', (chunk: Buffer) => reader.push(chunk))
  },
  async mcp() {
    const { fromJsonSchema, McpServer } = await import('@modelcontextprotocol/server')
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    const inputSchema = fromJsonSchema<EchoArguments>({
      type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false,
    })
    // The SDK adds a listener for every answer that waits to be written. By default Node warns at 11.
    process.stdout.setMaxListeners(100)
    serveStdio(() => {
      const server = new McpServer({ name: 'echo', version: '1.0.0' })
      const description = 'Returns the given text.'
      server.registerTool('echo', { description, inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }))
      return server
    })
  },
}

await KINDS[process.argv[2] as EchoKind]()
