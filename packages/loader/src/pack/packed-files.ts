import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { BulkheadError, MANIFEST_FILE } from '@bulkhead/contract'
import { compileGlob, pathSegments } from '@bulkhead/kit/glob'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import { parseStrictJson } from '../files/strict-json.ts'

/** In every package, whatever `files` says, as npm has it; those of Bulkhead besides. */
const ALWAYS = /^(?:package\.json|(?:readme|licen[cs]e|notice|changelog)(?:\..*)?)$/i
const OURS: ReadonlySet<string> = new Set([MANIFEST_FILE, INTEGRITY_FILE, SIGNATURE_FILE])

/** Never in a package: settings and secrets of the machine, dependencies as they were installed, and earlier packages. */
export const isNeverPacked = (path: string): boolean =>
  path.split('/').some((name) => name.startsWith('.') || name === 'node_modules') || /^[^/]+\.tgz$/.test(path)

/** Which of the files of a folder are packed: all of them, or those that `files` of package.json names. */
export function packedPaths(paths: readonly string[], packageJson: Uint8Array | undefined): readonly string[] {
  const listed = filesOf(packageJson)
  const globs = listed?.map((pattern) => compileGlob(pattern.replace(/^\.?\//, '').replace(/\/$/, '')))
  if (globs === undefined) return paths
  return paths.filter((path) => OURS.has(path) || ALWAYS.test(path) || globs.some((covers) => covers(pathSegments(path)).covers))
}

function filesOf(packageJson: Uint8Array | undefined): readonly string[] | undefined {
  const parsed = packageJson === undefined ? undefined : parseStrictJson(packageJson)
  if (parsed === undefined) return undefined
  if (!parsed.ok) throw new BulkheadError('ShapeInvalid', `package.json ${parsed.message}.`)
  const files: Json | undefined = isJsonObject(parsed.value) ? parsed.value['files'] : undefined
  if (files === undefined) return undefined
  if (!Array.isArray(files) || !files.every((item): item is string => typeof item === 'string' && !item.startsWith('!'))) {
    throw new BulkheadError('ShapeInvalid', 'package.json: `files` must be a list of paths and patterns, none of them negated.')
  }
  return files
}

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
