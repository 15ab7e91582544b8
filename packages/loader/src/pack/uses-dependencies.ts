import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { isJsonObject } from '@bulkhead/kit/json'
import { parseStrictJson } from '../files/strict-json.ts'

/** Every compartment has it. */
const PROVIDED = '@bulkhead/contract'

/**
 * Whether code of a package names something of the `node_modules` beside it, so that it must be bundled. Nothing is parsed: a name in
 * quotes counts wherever it stands, since to bundle for nothing costs less than to ship what cannot be imported.
 */
export function usesDependencies(folder: string, files: ReadonlyMap<string, Uint8Array>): boolean {
  const about = files.get('package.json')
  const parsed = about && parseStrictJson(about)
  // Names of its own for others' modules: which of them these are, a bundler finds out.
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
  globSync(['[!@.]*', '@*/*'], { cwd: folder }).map((path) => path.replaceAll(sep, '/')).filter((name) => name !== PROVIDED)
