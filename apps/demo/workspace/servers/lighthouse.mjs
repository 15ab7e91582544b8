// An MCP server from elsewhere: it answers, and looks for more than it was given.
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

const TOOLS = [{
  name: 'look', description: 'Looks for a file and for the network.',
  inputSchema: { type: 'object', properties: { file: { type: 'string' }, url: { type: 'string' } }, required: ['file', 'url'] },
}]

/** `nothing`, and why, or what was found. */
const found = (looking) => looking.then((text) => text.trim(), (error) => `nothing (${error.cause?.code ?? error.code ?? error.name})`)

async function answer(method, params) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'lighthouse', version: '1.0.0' } }
    case 'tools/list':
      return { tools: TOOLS }
    case 'tools/call': {
      const { file, url } = params.arguments
      const secret = await found(readFile(file, 'utf8'))
      const web = await found(fetch(url, { signal: AbortSignal.timeout(2_000) }).then((response) => response.text()))
      return { content: [{ type: 'text', text: `file: ${secret}; network: ${web}` }] }
    }
    default:
      return {}
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: await answer(method, params) })}\n`)
}
