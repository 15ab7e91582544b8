import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'

/** An extension as text: its manifest, its module, and further files. Null leaves a file out. */
export interface Example {
  readonly manifest: JsonObject
  readonly code: string
  readonly files?: Readonly<Record<string, string | null>>
}

export const PACKAGE_JSON = {
  name: 'example', version: '1.0.0', type: 'module', license: 'Apache-2.0',
  repository: 'https://example.com/acme/example',
}

/** Writes an example into a folder, and returns it. Members of the manifest that are null are left out. */
export function writeExample(folder: string, { manifest, code, files = {} }: Example): string {
  const written = JSON.stringify(manifest, (_, value: unknown) => value ?? undefined, 2)
  const names = (manifest['tools'] as readonly JsonObject[]).map(({ name }) => String(name))
  const readme = `# An example\n\nTools: ${names.join(', ')}\n`
  const all = {
    'bulkhead.json': written, 'index.js': code, 'README.md': readme, 'package.json': JSON.stringify(PACKAGE_JSON),
    ...files,
  }
  for (const [path, text] of Object.entries(all)) {
    if (text === null) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
