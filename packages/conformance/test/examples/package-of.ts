import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'

/** An extension as text: its manifest, its module, and further files. */
export interface Example {
  readonly manifest: JsonObject
  readonly code: string
  readonly files?: Readonly<Record<string, string>>
}

/** Writes an example into a folder, and returns it. Members of the manifest that are null are left out. */
export function writeExample(folder: string, { manifest, code, files = {} }: Example): string {
  const written = JSON.stringify(manifest, (_, value: unknown) => value ?? undefined, 2)
  const all = { 'bulkhead.json': written, 'index.js': code, ...files }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
