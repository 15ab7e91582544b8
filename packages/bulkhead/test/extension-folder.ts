import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ManifestInput } from '@bulkhead/contract'

type Tool = Partial<ManifestInput['tools'][number]> & { readonly name: string }

/** Writes an extension into the folder of a layer, with defaults for everything that the test does not set. */
export function writeExtension(layer: string, manifest: Partial<Omit<ManifestInput, 'tools'>> & { readonly id: string; readonly tools: readonly Tool[] }, code: string): string {
  const folder = join(layer, 'tools', manifest.id)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'bulkhead.json'), JSON.stringify({
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', version: '1.0.0', main: './index.js', ...manifest,
    tools: manifest.tools.map((tool) => ({ description: `The tool ${tool.name}.`, inputSchema: { type: 'object' }, mode: 'read', gated: false, ...tool })),
  }))
  writeFileSync(join(folder, 'index.js'), code)
  return folder
}
