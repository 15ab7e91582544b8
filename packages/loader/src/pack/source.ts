import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { BulkheadError, MANIFEST_FILE } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { parseStrictJson } from '../files/json-file.ts'
import { contentsOf } from '../files/read-package.ts'
import { readManifest } from '../prove/check-manifest.ts'

/** The source of a package whose main module is TypeScript. */
export interface TypeScriptSource {
  /** Path of the main module in the folder. */
  readonly main: string
  /** As written. */
  readonly manifest: JsonObject
}

type Files = ReadonlyMap<string, Uint8Array>

/** undefined if the main module is not TypeScript. */
export function typeScriptSource(folder: string, files: Files): TypeScriptSource | undefined {
  const written = readManifest({ layer: 'global', location: folder, part: '' }, contentsOf(files))
  if (!written.ok || !isJsonObject(written.value.json)) return undefined
  const { json: manifest } = written.value
  const { main } = manifest
  if (typeof main !== 'string' || !/^\.\/.+\.m?ts$/.test(main)) return undefined
  const path = main.slice('./'.length)
  if (files.has(path)) return { main: path, manifest }
  throw new BulkheadError('ShapeInvalid', `The folder has no ${visibleText(path)}, which the manifest names as main.`)
}

/** TypeScript, and not declarations. */
export const isTypeScript = (path: string): boolean => /(?<!\.d)\.[cm]?tsx?$/.test(path)

/** The default export of every extension has this type, so its declaration needs no compiler. */
const DECLARATION = `import type { ExtensionModule } from '@bulkhead/contract/author'
declare const extension: ExtensionModule
export default extension
`

/** The files that a bundle of the main module adds to the package: module, declaration and manifest. */
export function bundledFiles({ main, manifest }: TypeScriptSource, code: string, packed: Files): Files {
  const module = main.replace(/ts$/, 'js')
  const declaration = main.replace(/(m?)ts$/, 'd.$1ts')
  const json = JSON.stringify({ ...manifest, main: `./${module}` }, null, 2)
  return new Map([
    [module, code], ...(packed.has(declaration) ? [] : [[declaration, DECLARATION] as const]), [MANIFEST_FILE, `${json}\n`],
  ].map(([path, text]) => [path!, Buffer.from(text!)]))
}

/** Available in all compartments. */
const PROVIDED = '@bulkhead/contract'

/**
 * Whether the code mentions a package in `node_modules`, so that it must be bundled. Does not parse: any quoted name
 * counts, because an unnecessary bundle costs less than a missing dependency.
 */
export function usesDependencies(folder: string, files: ReadonlyMap<string, Uint8Array>): boolean {
  const about = files.get('package.json')
  const parsed = about && parseStrictJson(about)
  // Import maps may point at dependencies; the bundler resolves them.
  if (parsed?.ok && isJsonObject(parsed.value) && parsed.value['imports'] !== undefined) return true
  const code = [...files].filter(([path]) => /\.[cm]?js$/.test(path)).map(([, bytes]) => Buffer.from(bytes).toString())
  const installed = installedIn(join(folder, 'node_modules'))
  return code.some((text) => text.includes('node_modules/') || installed.some((name) => names(text, name)))
}

function names(text: string, dependency: string): boolean {
  for (let at = text.indexOf(dependency); at >= 0; at = text.indexOf(dependency, at + 1)) {
    const [before, after] = [text[at - 1] ?? '', text[at + dependency.length] ?? '']
    if (/['"`]/.test(before) && /['"`/]/.test(after)) return true
  }
  return false
}

const installedIn = (folder: string): readonly string[] =>
  globSync(['[!@.]*', '@*/*'], { cwd: folder }).map((path) => path.replaceAll(sep, '/'))
    .filter((name) => name !== PROVIDED)
