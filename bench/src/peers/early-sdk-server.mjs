// A server of the official SDK with one tool, which reads the file itself.
import { readFile } from 'node:fs/promises'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const inputSchema = fromJsonSchema({
  type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false,
})

serveStdio(() => {
  const server = new McpServer({ name: 'read', version: '1.0.0' })
  server.registerTool('read_notes', { description: 'Reads a Markdown file.', inputSchema }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    return { content: [{ type: 'text', text }], structuredContent: { text } }
  })
  return server
})
