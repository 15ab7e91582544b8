// An MCP server of the official SDK with one tool: the function of the bundled `read`, with the file system of Node.
import { readFile } from 'node:fs/promises'
import type { JsonObject } from '@bulkhead/kit/json'
import { bundledExtensions } from '@bulkhead/tools-bundled'
import { fromJsonSchema, McpServer, type JsonSchemaType } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const { manifest: { tools: [declared] }, module: { tools } } =
  bundledExtensions.find(({ manifest: { id } }) => id === 'read')!
const description = declared!.description
const inputSchema = fromJsonSchema<JsonObject>(declared!.inputSchema as JsonSchemaType)
const runtime = { fs: { readText: (path: string) => readFile(path, 'utf8') }, signal: new AbortController().signal }

serveStdio(() => {
  const server = new McpServer({ name: 'read', version: '1.0.0' })
  server.registerTool('read', { description, inputSchema }, async (args) => {
    const structuredContent = await tools['read']!.execute(args as never, runtime as never) as JsonObject
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  return server
})
