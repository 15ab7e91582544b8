import { hash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { ExtensionDescriptor, ManifestInput } from '@bulkhead/contract'
import { createLoader, INTEGRITY_FILE } from '@bulkhead/loader'

export const FILES_PER_EXTENSION = 5
/** The files of a tool with bundled dependencies: a large module, a smaller one, and a README. */
const SIZES = { 'index.js': 120_000, 'lib/chunk.js': 60_000, 'README.md': 4_000 } as const
/** Longer than the resolution of file timestamps. The loader does not cache files that are younger. */
const SETTLE_MS = 200

/** A global layer with many extensions, each with its own files and schemas. */
export interface ExtensionLayer {
  readonly count: number
  readonly globalRoot: string
  readonly workspace: string
  readonly cache: string
}

/** The sides of a subject share one layer. The first `open` creates it, the last `close` removes it. */
export function sharedLayer(count: number): { open(): Promise<ExtensionLayer>; close(): Promise<void> } {
  let users = 0
  let created: Promise<ExtensionLayer> | undefined
  return {
    open: () => {
      users++
      created ??= createLayer(count)
      return created
    },
    close: async () => {
      const layer = created
      if (--users > 0 || layer === undefined) return
      created = undefined
      await rm(dirname((await layer).globalRoot), { recursive: true, force: true })
    },
  }
}

async function createLayer(count: number): Promise<ExtensionLayer> {
  const base = await mkdtemp(join(tmpdir(), 'bulkhead-layer-'))
  const layer = { count, globalRoot: join(base, 'home'), workspace: join(base, 'work'), cache: join(base, 'cache') }
  await mkdir(layer.workspace)
  for (let index = 0; index < count; index++) {
    await createExtension(join(layer.globalRoot, 'tools', `ext-${index}`), index)
  }
  await wait(SETTLE_MS)
  return layer
}

async function createExtension(folder: string, index: number): Promise<void> {
  const files = new Map<string, string>([
    ['bulkhead.json', JSON.stringify(manifestOf(index))],
    ...Object.entries(SIZES).map(([path, size]) => [path, `// ${randomBytes(size / 2).toString('hex')}`] as const),
  ])
  files.set(INTEGRITY_FILE, integrityOf(files))
  await mkdir(join(folder, 'lib'), { recursive: true })
  for (const [path, text] of files) await writeFile(join(folder, path), text)
}

function manifestOf(index: number): ManifestInput {
  return {
    kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id: `ext-${index}`, version: '1.0.0',
    tools: [{
      name: `tool_${index}`, description: `Returns the weather of city number ${index}.`,
      inputSchema: {
        type: 'object', additionalProperties: false, required: ['city', 'days'],
        properties: {
          city: { type: 'string', minLength: 1, maxLength: 100 + index, description: 'The city.' },
          days: { type: 'integer', minimum: 0, maximum: 10 },
          unit: { enum: ['c', 'f'] },
          tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' }, maxItems: 10 },
        },
      },
      requires: { net: { hosts: [`api-${index}.example`] } },
    }],
  }
}

function integrityOf(files: ReadonlyMap<string, string>): string {
  const digests = new Map([...files].map(([path, text]) => [path, hash('sha512', text, 'hex')]))
  const lines = [...digests.keys()].toSorted().map((path) => `${path}\0${digests.get(path)}\n`)
  const root = hash('sha512', lines.join(''), 'hex')
  return JSON.stringify({ algorithm: 'sha512', files: Object.fromEntries(digests), root })
}

/** One load by a new loader. `warm`: with a cache, which the first load writes. */
export async function loadLayer(
  { globalRoot, workspace, cache }: ExtensionLayer, warm: boolean,
): Promise<readonly ExtensionDescriptor[]> {
  const roots = { global: globalRoot }
  const loader = createLoader({ coreVersion: '1.0.0', roots, bundled: [], ...(warm && { cache }) })
  const overrides = { policy: { lock: { global: 'off' } } } as const
  const { extensions, diagnostics } =
    await loader.load({ workspace, trust: 'declined', projectDigest: 'any', overrides })
  if (diagnostics.length > 0) throw new Error(`${diagnostics[0]!.code}: ${diagnostics[0]!.message}`)
  if (extensions.some(({ integrity }) => integrity !== 'verified')) throw new Error('An extension was not verified.')
  return extensions
}
