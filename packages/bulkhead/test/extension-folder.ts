import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile, ManifestInput } from '@bulkhead/contract'

type Tool = Partial<ManifestInput['tools'][number]> & { readonly name: string }

/** Without the pause of seconds before the next attempt of a call. */
export const NO_PAUSE = { retries: { backoffBase: 0, jitterMs: 0 } } as const satisfies ConfigFile

/** Extensions run in threads, which start much faster than processes. For tests that are about something else. */
export const IN_THREADS = {
  ...NO_PAUSE,
  isolation: { global: 'thread', project: 'thread' }, sandbox: { spares: { process: 0, thread: 0 } },
} as const satisfies ConfigFile

/** Gives a home folder that configuration. */
export function useThreads(home: string): void {
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'config.json'), JSON.stringify(IN_THREADS))
}

/** Writes an extension into the folder of a layer, with defaults for everything that the test does not set. */
export function writeExtension(
  layer: string,
  manifest: Partial<Omit<ManifestInput, 'tools'>> & { readonly id: string; readonly tools: readonly Tool[] },
  code: string,
): string {
  const folder = join(layer, 'tools', manifest.id)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'bulkhead.json'),
    JSON.stringify({
      kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', version: '1.0.0', main: './index.js',
      ...manifest,
      tools: manifest.tools.map((tool) => ({
        description: `The tool ${tool.name}.`, inputSchema: { type: 'object' }, mode: 'read', gated: false, ...tool,
      })),
    }),
  )
  writeFileSync(join(folder, 'index.js'), code)
  return folder
}
