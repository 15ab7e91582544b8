import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { readRegularFile } from '../files/read-file.ts'
import { LOADER_LIMITS } from '../model/limits.ts'
import { foldersUp, isInside } from './outer-folders.ts'

const TSCONFIG = 'tsconfig.json'

/**
 * The tsconfig.json for a bundle: of the folder, or of the nearest one around it up to the root. undefined if there is
 * none; those of other folders do not count. Throws PackageUnsafe if it includes a file outside the root, which the
 * bundler would read.
 */
export function findTsconfig(folder: string, root: string): string | undefined {
  const found = foldersUp(folder, root).map((one) => join(one, TSCONFIG)).find((file) => existsSync(file))
  if (found === undefined) return undefined
  const checked = new Set<string>()
  const files: { readonly path: string; readonly from: string }[] = [{ path: found, from: found }]
  for (let next = files.pop(); next !== undefined; next = files.pop()) {
    const { path, from } = next
    const real = realpathSync.native(path)
    if (!isInside(real, root)) {
      const fault = `"${visibleText(from)}" includes "${visibleText(real)}", which is outside "${visibleText(root)}".`
      throw unsafe(`${fault} Copy it into the folder, or name the outer folder of a monorepo with --root.`)
    }
    if (checked.has(real)) continue
    checked.add(real)
    files.push(...includedBy(real).map((included) => ({ path: included, from: real })))
  }
  return found
}

const unsafe = (message: string): BulkheadError => new BulkheadError('PackageUnsafe', message)

/** The files that `extends` and `references` name. */
function includedBy(file: string): readonly string[] {
  const { extends: bases = [], references = [] } = readTsconfig(file)
  const named = [bases].flat().filter((one) => typeof one === 'string').map((one) => extended(file, one))
  const projects = [references].flat().flatMap((one) => isJsonObject(one) && typeof one['path'] === 'string'
    ? [resolve(dirname(file), one['path'])] : [])
  const ofProjects = projects.map((path) => basename(path).endsWith('.json') ? path : join(path, TSCONFIG))
  return [...named, ...ofProjects.filter((path) => existsSync(path))]
}

function extended(file: string, given: string): string {
  const isPath = isAbsolute(given) || /^\.{1,2}(?:[/\\]|$)/.test(given)
  const { resolve: find } = createRequire(file)
  const forms = [given, `${given}.json`, `${given}/${TSCONFIG}`]
  for (const form of forms) {
    const path = isPath ? resolve(dirname(file), form) : tried(() => find(form))
    if (path !== undefined && existsSync(path) && path.endsWith('.json')) return path
  }
  throw unsafe(`"${visibleText(file)}" extends "${visibleText(given)}", which cannot be found.`)
}

function tried(find: () => string): string | undefined {
  try {
    return find()
  } catch {
    return undefined
  }
}

// The end of the text closes what is open, so that no start is tried twice.
const COMMENT = /("(?:\\[^]|[^"\\])*(?:"|\\?$))|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)/g
const LAST_COMMA = /("(?:\\[^]|[^"\\])*(?:"|\\?$))|,(?=\s*[}\]])/g

/** TypeScript allows comments and a comma after the last value. */
function readTsconfig(file: string): { readonly [key: string]: Json } {
  const read = readRegularFile(file, { maxBytes: LOADER_LIMITS.manifestBytes, followLinks: true })
  if (!read.ok) throw unsafe(`"${visibleText(file)}" ${read.message}.`)
  const text = new TextDecoder().decode(read.bytes)
  const without = (before: string, rest: RegExp) => before.replace(rest, (_, kept?: string) => kept ?? '')
  const plain = [COMMENT, LAST_COMMA].reduce(without, text)
  const parsed = parseJson(plain.trim() === '' ? '{}' : plain)
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value
  throw new BulkheadError('ShapeInvalid', `"${visibleText(file)}" is not a JSON object.`)
}
