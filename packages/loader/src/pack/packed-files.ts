import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import { BulkheadError, MANIFEST_FILE } from '@bulkhead/contract'
import { compileGlob, pathSegments } from '@bulkhead/kit/glob'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { INTEGRITY_FILE, SIGNATURE_FILE } from '../files/integrity.ts'
import { parseStrictJson } from '../files/strict-json.ts'

/** Always packed, as npm does, with the files of Bulkhead. */
const ALWAYS = /^(?:package\.json|(?:readme|licen[cs]e|notice|changelog)(?:\..*)?)$/i
const OURS: ReadonlySet<string> = new Set([MANIFEST_FILE, INTEGRITY_FILE, SIGNATURE_FILE])

/** Never packed: dot files, which may be settings or secrets, installed dependencies, and earlier packages. */
export const isNeverPacked = (path: string): boolean =>
  path.split('/').some((name) => name.startsWith('.') || name === 'node_modules') || /^[^/]+\.tgz$/.test(path)

/** The files to pack: all of them, or those in `files` of package.json. */
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
    throw new BulkheadError('ShapeInvalid', 'package.json: `files` must be a list of paths and patterns without negation.')
  }
  return files
}

/** Available in all compartments. */
const PROVIDED = '@bulkhead/contract'

/**
 * Whether the code mentions a package in `node_modules`, so that it must be bundled. Does not parse: any quoted name counts, because an
 * unnecessary bundle costs less than a missing dependency.
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
  globSync(['[!@.]*', '@*/*'], { cwd: folder }).map((path) => path.replaceAll(sep, '/')).filter((name) => name !== PROVIDED)
