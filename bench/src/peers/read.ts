// An MCP server of the official SDK whose only tool reads a file of its working directory.
import { readFile } from 'node:fs/promises'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const inputSchema = fromJsonSchema<{ readonly path: string }>({
  type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false,
})
serveStdio(() => {
  const server = new McpServer({ name: 'read', version: '1.0.0' })
  server.registerTool('read', { description: 'Reads a file.', inputSchema }, async ({ path }) => {
    const content = await readFile(path, 'utf8')
    return { content: [{ type: 'text', text: content }], structuredContent: { content } }
  })
  return server
})
