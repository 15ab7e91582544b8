import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'

/** An extension as text: its manifest, its module, and further files. */
export interface Example {
  readonly manifest: JsonObject
  readonly code: string
  readonly files?: Readonly<Record<string, string>>
}

/** Writes an example into a new folder. */
export function writeExample({ manifest, code, files = {} }: Example): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-example-')))
  const all = { 'bulkhead.json': JSON.stringify(manifest, null, 2), 'index.js': code, ...files }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
