import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CONTRACT_VERSION, type ManifestInput } from '@bulkhead/contract'

// Written to folders as a publisher would, so that an implementation needs no other way to get them.

export type ToolInput = ManifestInput['tools'][number]

export const toolOf = (name: string, more: Partial<ToolInput> = {}): ToolInput => ({
  name, description: 'An example of the conformance suite.', ...more,
  inputSchema: more.inputSchema
    ?? { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
})

/** A valid manifest with one tool, named after the extension. */
export const manifestOf = (id: string, more: Partial<ManifestInput> = {}): ManifestInput => ({
  kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: '*', id, version: '1.0.0',
  tools: [toolOf(`${id.replaceAll('-', '_')}_tool`)], ...more,
})

export type PackageFiles = Readonly<Record<string, string>>

/** The files of a package. */
export const filesOf = (manifest: ManifestInput | string, more: PackageFiles = {}): PackageFiles => ({
  'bulkhead.json': typeof manifest === 'string' ? manifest : JSON.stringify(manifest),
  'index.js': 'export default { tools: {} }\n', ...more,
})

/** Writes a package into a layer and returns its folder. */
export async function writePackage(layer: string, folder: string, files: PackageFiles): Promise<string> {
  const location = join(layer, 'tools', folder)
  for (const [path, text] of Object.entries(files)) await writeText(join(location, path), text)
  return location
}

export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')

/** The digest of all files: of their paths and digests, in the order of the bytes of the paths. */
export function packageDigestOf(files: PackageFiles): string {
  const lines = Object.entries(files).map(([path, text]) => ({ path, line: `${path}\0${sha512(text)}\n` }))
  const sorted = lines.toSorted((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)))
  return sha512(sorted.map(({ line }) => line).join(''))
}

/** The same files with an integrity file, as `bulkhead pack` writes it. */
export const sealed = (files: PackageFiles): PackageFiles => ({
  ...files,
  'bulkhead.integrity.json': JSON.stringify({
    algorithm: 'sha512', root: packageDigestOf(files),
    files: Object.fromEntries(Object.entries(files).map(([path, text]) => [path, sha512(text)])),
  }),
})
