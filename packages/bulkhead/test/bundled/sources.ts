import { hash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Built } from '@bulkhead/kit/built-code'
import { rolldown, type OutputChunk, type Plugin } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const FOLDER = join(ROOT, 'node_modules/.cache/bundled')
/** By then, no process of a test runs what was bundled before. */
const OLD_MS = 24 * 60 * 60 * 1_000

/** What programs of tests import, and no package exports. */
const INNER_ENTRIES = ['packages/bulkhead/src/cli/main.ts', 'packages/bulkhead/src/facade/create-worker.ts']
/** Libraries that are many modules. Node imports the others from where they are. */
const LIBRARIES = /^(?:zod|ajv|fast-deep-equal|fast-uri|json-schema-traverse|semver|unbash)(?:\/|$)/
const PACKAGE = /^(?!\.|\/|#|node:|@bulkhead\/|bulkhead(?:\/|$))/
const OWN_SOURCE = /\/packages\/[^/]+\/src\/.*\.ts$/
/** How sources name the entry of a thread, or a module that is loaded late. */
const URL_OF_SOURCE = /new URL\(\s*'(\.{1,2}\/[^']+\.ts)',\s*import\.meta\.url\s*,?\s*\)/g

/**
 * Called in a thread. The result is the path of a module for `--import`: with it, Node loads the sources of all
 * packages from a few files instead of a thousand. `import.meta` of each source is that of its own file.
 */
export async function build(): Promise<Built<string>> {
  const building = await rolldown({
    input: Object.fromEntries(entries().map((file) => [nameOf(file), file])),
    cwd: ROOT,
    platform: 'node',
    tsconfig: false,
    onLog: (_level, log, handle) => handle('error', log),
    plugins: [OTHER_PACKAGES, OWN_META],
  })
  const { output } = await building.generate({
    format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: 'shared-[hash].mjs', comments: false, minify: false,
  })
  const used = (await building.watchFiles).filter((file) => OWN_SOURCE.test(file))
  await building.close()
  const described = globSync('packages/*/package.json', { cwd: ROOT }).concat('pnpm-lock.yaml')
  const hooks = write(output.filter((one) => one.type === 'chunk'))
  return {
    code: hooks,
    // With the result: what was removed is bundled again.
    sources: [...used, ...described.map((file) => join(ROOT, file)), fileURLToPath(import.meta.url), hooks],
  }
}

/** Everything that packages export, the programs, and what other sources name by URL. */
function entries(): readonly string[] {
  const sources = globSync('packages/*/src/**/*.ts', { cwd: ROOT, exclude: ['packages/*/src/*/test'] })
  const named = sources.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(URL_OF_SOURCE)].map(([, path]) => join(dirname(file), path!)))
  const exported = globSync('packages/*/package.json', { cwd: ROOT }).flatMap((file) => {
    const { exports, bin } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Record<'exports' | 'bin', unknown>
    return [exports, bin].flatMap(sourcesIn).flatMap((path) => globSync(join(dirname(file), path), { cwd: ROOT }))
  })
  return [...new Set([...exported, ...named, ...INNER_ENTRIES])].map((file) => join(ROOT, file))
}

function sourcesIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.endsWith('.ts') ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(sourcesIn) : []
}

const nameOf = (file: string): string => relative(ROOT, file).replaceAll('/', '_').replace(/\.ts$/, '')

/** By their paths, because the bundle is in another folder. */
const OTHER_PACKAGES: Plugin = {
  name: 'other-packages',
  resolveId: {
    filter: { id: PACKAGE },
    async handler(id, importer) {
      if (LIBRARIES.test(id)) return undefined
      const found = await this.resolve(id, importer, { skipSelf: true })
      const path = found?.id.startsWith('/') ? pathToFileURL(found.id).href : id
      return { id: path, external: true }
    },
  },
}

const OWN_META: Plugin = {
  name: 'own-meta',
  transform: {
    filter: { id: OWN_SOURCE, code: 'import.meta' },
    handler: (code, id) => code
      // All files of the bundle are in one folder.
      .replaceAll(URL_OF_SOURCE, (_, path: string) => `new URL('./${named(id, path)}.mjs', import.meta['url'])`)
      .replaceAll(/import\.meta\.resolve\('([^']+)'\)/g, (_, name: string) => url(createRequire(id).resolve(name)))
      .replaceAll('import.meta.url', url(id)),
  },
}

const named = (id: string, path: string): string => nameOf(join(dirname(id), path))
const url = (path: string): string => JSON.stringify(pathToFileURL(path).href)

/** Returns the path of the module that makes Node use the bundle. */
function write(chunks: readonly OutputChunk[]): string {
  const texts = chunks.map(({ fileName, code }) => [fileName, code] as const).concat([['use.mjs', hooksFor(chunks)]])
  const folder = join(FOLDER, hash('sha256', JSON.stringify(texts)).slice(0, 16))
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  for (const [name, text] of texts) writeFileSync(join(draft, name), text)
  try {
    renameSync(draft, folder)
  } catch {
    // Another process was first, and its result is the same.
    rmSync(draft, { recursive: true })
  }
  for (const path of readdirSync(FOLDER).map((name) => join(FOLDER, name))) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found && path !== folder && Date.now() - found.mtimeMs > OLD_MS) rmSync(path, { recursive: true, force: true })
  }
  return join(folder, 'use.mjs')
}

/** A source that is in the bundle must not be loaded a second time, as another module. */
function hooksFor(chunks: readonly OutputChunk[]): string {
  const files = chunks.filter(({ isEntry }) => isEntry)
    .map(({ facadeModuleId, fileName }) => [pathToFileURL(facadeModuleId!).href, `./${fileName}`])
  const inside = chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => OWN_SOURCE.test(id))
    .map((id) => pathToFileURL(id).href)
  return `import { registerHooks } from 'node:module'
const files = new Map(${JSON.stringify(files)})
const inside = new Set(${JSON.stringify(inside)})
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const file = files.get(found.url)
    if (file !== undefined) return { ...found, url: new URL(file, import.meta.url).href, format: 'module' }
    if (!inside.has(found.url)) return found
    throw new Error(found.url + ' is in the bundle, but no entry of it. Add it in test/bundled/sources.ts.')
  },
})
`
}
