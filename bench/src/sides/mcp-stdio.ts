import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Runner, Side } from '../harness/subject.ts'
import type { Payload } from '../loads/payload.ts'
import { payload } from '../loads/payload.ts'

/** The official SDK on both ends with its defaults: a server in a child process, spoken to over its stdio. */
export const mcpStdioOf = (carried: Payload) => ({
  name: 'MCP SDK over stdio',
  answer: (i: number) => [{ type: 'text', text: carried(i).text }],
  start: async (): Promise<Runner> => {
    const client = new Client({ name: 'bench', version: '1.0.0' })
    const server = fileURLToPath(new URL('../peers/mcp-echo.ts', import.meta.url))
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [server] }))
    return {
      run: async (i) => {
        const result = await client.callTool({ name: 'echo', arguments: { text: carried(i).text } })
        if (result.isError === true) throw new Error(`The server refused call ${i}: ${JSON.stringify(result.content)}`)
        return result.content
      },
      stop: () => client.close(),
    }
  },
} as const satisfies Side)

export const mcpStdio = mcpStdioOf(payload)
