// The same with a server of the official SDK over standard input and output. Arguments: the server, the workspace, how
// many calls.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [, , server, workspace, calls] = process.argv
const begin = performance.now()
const client = new Client({ name: 'bench', version: '1.0.0' })
await client.connect(new StdioClientTransport({ command: process.execPath, args: [server], cwd: workspace }))
const micros = []
let firstMs
let text
for (let call = 0; call < Number(calls); call++) {
  const before = performance.now()
  const result = await client.callTool({ name: 'read_notes', arguments: { path: 'notes.md' } })
  micros.push((performance.now() - before) * 1000)
  text = result.structuredContent?.text
  if (call > 0) continue
  firstMs = performance.now() - begin
  process.stdout.write('first\n')
}
process.stdout.write(`${JSON.stringify({ text, firstMs, micros })}\n`)
await client.close()
