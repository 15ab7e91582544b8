import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { EchoArguments } from '../loads/payload.ts'

const inputSchema = fromJsonSchema<EchoArguments>({
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
})

serveStdio(() => {
  const server = new McpServer({ name: 'echo', version: '1.0.0' })
  const description = 'Returns the given text.'
  server.registerTool('echo', { description, inputSchema }, ({ text }) => ({ content: [{ type: 'text', text }] }))
  return server
})
