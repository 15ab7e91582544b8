import { globSync, readdirSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { BulkheadError, CONTRACT_VERSION, MANIFEST_FILE, type CodeOrigins } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'
import { readRegularFile } from '../files/read-file.ts'
import { contentsOf } from '../files/read-package.ts'
import { PACKAGE_FILE, readManifest } from '../prove/check-manifest.ts'
import type { BundledFiles } from './bundled-files.ts'
import { foldersUp } from './outer-folders.ts'
import { parseModules } from './parse-modules.ts'

type Files = ReadonlyMap<string, Uint8Array>

/** The source of a package whose main module is TypeScript. */
export interface TypeScriptSource {
  /** Path of the main module in the folder. */
  readonly main: string
  /** As written. Without `tools`, the code declares the rest. */
  readonly manifest: JsonObject
}

/** One ES module, made of a module and everything that it imports. */
export interface Bundle {
  readonly code: string
  readonly origins: CodeOrigins
}

export interface SourceTools {
  /** Bundles a module with its imports into one ES module. All files come from `sources`. */
  readonly bundle: (main: string, sources: BundledFiles) => Promise<Bundle>
  /** Runs a module of these files in a compartment, and returns the part of the manifest that it declares. */
  readonly describe?: (module: string, files: Files, origins: CodeOrigins) => Promise<JsonObject>
  /** The version of the host that a generated manifest requires. */
  readonly coreVersion: string
}

interface Building extends SourceTools {
  readonly sources: BundledFiles
}

/** undefined if the main module is not TypeScript. */
export function typeScriptSource(folder: string, files: Files): TypeScriptSource | undefined {
  const source = namedSource(folder, files)
  if (source === undefined && files.has('index.ts') && !files.has(MANIFEST_FILE) && !files.has(PACKAGE_FILE)) {
    const advice = 'Add one with the name and version of the extension, such as { "name": "weather", "version": "1.0.0" }.'
    throw new BulkheadError('ShapeInvalid', `There is no ${PACKAGE_FILE} beside index.ts. ${advice}`)
  }
  if (source === undefined || files.has(source.main)) return source
  const shown = visibleText(source.main)
  throw new BulkheadError('ShapeInvalid', `The folder has no ${shown}, which the manifest names as main.`)
}

/** Whether it is the folder of an author: it has TypeScript, or files that are never packed. */
export function isSourceFolder(folder: string): boolean {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder) return false
  if (readdirSync(folder).some((name) => name.startsWith('.') || name === 'node_modules')) return true
  const read = [MANIFEST_FILE, PACKAGE_FILE, 'index.ts', 'index.js'].flatMap((name): [string, Uint8Array][] => {
    const file = readRegularFile(join(folder, name), { maxBytes: MANIFEST_BYTES, followLinks: true })
    return file.ok ? [[name, file.bytes]] : []
  })
  return namedSource(folder, new Map(read)) !== undefined
}

const MANIFEST_BYTES = 1_000_000

function namedSource(folder: string, files: Files): TypeScriptSource | undefined {
  const manifest = writtenManifest(folder, files)
  const { main = files.has('index.ts') && !files.has('index.js') ? './index.ts' : '' } = manifest ?? {}
  if (manifest === undefined || typeof main !== 'string' || !/^\.\/.+\.m?ts$/.test(main)) return undefined
  return { main: main.slice('./'.length), manifest }
}

/** Empty if the folder has a package.json and no manifest. */
function writtenManifest(folder: string, files: Files): JsonObject | undefined {
  const written = readManifest({ layer: 'global', location: folder, part: '' }, contentsOf(files))
  if (written.ok) return isJsonObject(written.value.json) ? written.value.json : undefined
  const about = files.has(MANIFEST_FILE) ? undefined : packageJsonOf(files)
  return about === undefined || 'bulkhead' in about ? undefined : {}
}

function packageJsonOf(files: Files): JsonObject | undefined {
  const bytes = files.get(PACKAGE_FILE)
  const parsed = bytes && parseStrictJson(bytes)
  return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

/** TypeScript, and not declarations. */
export const isTypeScript = (path: string): boolean => /(?<!\.d)\.[cm]?tsx?$/.test(path)

/** The default export of every extension has this type, so its declaration needs no compiler. */
const DECLARATION = `import type { ExtensionModule } from '@bulkhead/contract/author'
declare const extension: ExtensionModule
export default extension
`

interface BuiltSource {
  readonly files: Map<string, Uint8Array>
  readonly origins: CodeOrigins
}

/** The packed files with the bundle of the main module, its declaration and a manifest that names it. */
export async function buildSource(
  { main, manifest }: TypeScriptSource, packed: Files, { bundle, sources, describe, coreVersion }: Building,
): Promise<BuiltSource> {
  const module = main.replace(/ts$/, 'js')
  const declaration = main.replace(/(m?)ts$/, 'd.$1ts')
  const files = new Map([[declaration, Buffer.from(DECLARATION)], ...packed])
  const { code, origins } = await bundle(main, sources)
  files.set(module, Buffer.from(code))
  // Before it runs: the error says what to install.
  await parseModules(module, files, origins)
  const built = { ...manifest, main: `./${module}` }
  const whole = 'tools' in manifest ? built
    : { ...factsOf(packageJsonOf(files), coreVersion), ...built, ...await declaredBy(describe, module, files, origins) }
  return { files: files.set(MANIFEST_FILE, Buffer.from(`${JSON.stringify(whole, null, 2)}\n`)), origins }
}

/** The keys of a generated manifest that package.json has, or that are the same for all. */
function factsOf(packageJson: JsonObject = {}, coreVersion: string): JsonObject {
  const { name, version, description } = packageJson
  return {
    $schema: './node_modules/@bulkhead/contract/schema/manifest.schema.json',
    kind: 'Tool', contractVersion: CONTRACT_VERSION, requiredCoreVersion: `^${coreVersion}`,
    ...(typeof name === 'string' && { id: name.replace(/^@[^/]*\//, '') }),
    ...(version !== undefined && { version }), ...(description !== undefined && { description }),
  }
}

async function declaredBy(
  describe: SourceTools['describe'], module: string, files: Files, origins: CodeOrigins,
): Promise<JsonObject> {
  if (describe !== undefined) return describe(module, files, origins)
  throw new BulkheadError('ShapeInvalid', 'The manifest has no tools, and nothing is configured to run the code.')
}

/** Available in all compartments. */
const PROVIDED = '@bulkhead/contract'

/**
 * Whether the code mentions a package in `node_modules`, so that it must be bundled. Does not parse: any quoted name
 * counts, because an unnecessary bundle costs less than a missing dependency.
 */
export function usesDependencies(
  { folder, root = folder }: Pick<BundledFiles, 'folder' | 'root'>, files: Files,
): boolean {
  // Import maps may point at dependencies; the bundler resolves them.
  if (packageJsonOf(files)?.['imports'] !== undefined) return true
  const installed = [...foldersUp(folder, root)].flatMap((one) => installedIn(join(one, 'node_modules')))
  return codeOf(files).some((text) => text.includes('node_modules/') || installed.some((name) => mentions(text, name)))
}

/** The JavaScript of these files. */
export const codeOf = (files: Files): readonly string[] =>
  [...files].filter(([path]) => /\.[cm]?js$/.test(path)).map(([, bytes]) => Buffer.from(bytes).toString())

/** Whether code has the name of a package in quotes. */
export function mentions(text: string, dependency: string): boolean {
  for (let at = text.indexOf(dependency); at >= 0; at = text.indexOf(dependency, at + 1)) {
    const [before, after] = [text[at - 1] ?? '', text[at + dependency.length] ?? '']
    if (/['"`]/.test(before) && /['"`/]/.test(after)) return true
  }
  return false
}

const installedIn = (folder: string): readonly string[] =>
  globSync(['[!@.]*', '@*/*'], { cwd: folder }).map((path) => path.replaceAll(sep, '/'))
    .filter((name) => name !== PROVIDED)
