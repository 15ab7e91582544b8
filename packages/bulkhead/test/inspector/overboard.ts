import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CODE = `export default {
  tools: {
    overboard: { execute: () => new Promise(() => setTimeout(() => { throw new Error('overboard') })) },
    afloat: { execute: () => 'afloat' },
  },
}`
const tool = (name: string) => ({
  name, description: 'Floats, or does not.', inputSchema: { type: 'object' }, gated: false, mode: 'read',
})
const MANIFEST = {
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: 'overboard', version: '1.0.0',
  main: './index.js', tools: [tool('overboard'), tool('afloat')],
}

/** A project's extension in a process of its own: the tool `overboard` ends it, the tool `afloat` does not. */
export function writeOverboard(workspace: string): void {
  const folder = join(workspace, '.bulkhead', 'tools', 'overboard')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.js'), CODE)
  writeFileSync(join(folder, 'bulkhead.json'), JSON.stringify(MANIFEST))
}

const RAW = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures/raw-server.js')

/** A project's MCP server with the tool `hail`. */
export function writeServer(workspace: string): void {
  const script = join(workspace, 'script.json')
  writeFileSync(script, JSON.stringify({ tools: [{ name: 'hail', inputSchema: { type: 'object' } }] }))
  const ship = { type: 'local', command: [process.execPath, RAW, script], jail: false }
  mkdirSync(join(workspace, '.bulkhead'), { recursive: true })
  writeFileSync(join(workspace, '.bulkhead', 'config.json'), JSON.stringify({ mcp: { ship } }))
}
