import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UnusedPowers } from '@bulkhead/conformance'
import { BulkheadError, MANIFEST_FILE, type RequirementSet } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { removeJson } from '@bulkhead/kit/json-edit'
import { UsageError } from './command.ts'
import { replaceFile, writing } from './write-file.ts'

export interface Removal {
  readonly file: string
  /** Each as the publisher wrote it. */
  readonly removed: readonly string[]
}

/**
 * Removes unused powers from the manifest of a folder, and keeps the rest of the file as it is written. `verify` reads
 * the folder again; if it throws, the file is restored.
 */
export async function removeUnused(
  folder: string, unused: UnusedPowers, verify: () => Promise<unknown>,
): Promise<Removal> {
  const isOwn = existsSync(join(folder, MANIFEST_FILE))
  const name = isOwn ? MANIFEST_FILE : 'package.json'
  const file = join(folder, name)
  if (!existsSync(file)) throw new UsageError('--fix needs a manifest file, and the folder has none.')
  const text = readFileSync(file, 'utf8')
  const whole = JSON.parse(text) as JsonObject
  const manifest = isOwn ? whole : whole['bulkhead']
  if (!isJsonObject(manifest)) return { file: name, removed: [] }
  const places = placesOf(manifest, unused)
  if (places.length === 0) return { file: name, removed: [] }
  const pointers = places.map((place) => (isOwn ? '' : '/bulkhead') + place.steps.map(pointerStep).join(''))
  writing(file, () => replaceFile(file, removeJson(text, new Set(pointers))))
  try {
    await verify()
  } catch (error) {
    writing(file, () => replaceFile(file, text))
    const { code, message } = BulkheadError.from(error)
    const words = `--fix changed nothing, because ${name} would be invalid: ${message}`
    throw new BulkheadError(code, words, { cause: error })
  }
  return { file: name, removed: places.map(({ shown }) => shown) }
}

interface Place {
  readonly steps: readonly (string | number)[]
  readonly shown: string
}

/** Where the manifest names the unused powers. */
function placesOf(manifest: JsonObject, { tools, env, secrets, state }: UnusedPowers): readonly Place[] {
  const inTools = listOf(manifest['tools']).flatMap((tool, index) => {
    const { name, requires } = isJsonObject(tool) ? tool : {}
    const found = tools.get(name as string)
    return found === undefined ? [] : placesInTool(requires ?? {}, found).map(({ steps, shown }) =>
      ({ steps: ['tools', index, 'requires', ...steps], shown: `${name as string}: ${shown}` }))
  })
  return [
    ...inTools,
    ...itemsOf(manifest['env'], ['env'], (name) => env.includes(name as string)),
    ...itemsOf(manifest['secrets'], ['secrets'], (secret) =>
      isJsonObject(secret) && secrets.includes(secret['name'] as string)),
    ...(state && manifest['stateSlot'] !== undefined ? [{ steps: ['stateSlot'], shown: 'stateSlot' }] : []),
  ]
}

function placesInTool(requires: Json, { fs, net, shell, capabilities }: RequirementSet): readonly Place[] {
  const parts: readonly (readonly [steps: readonly string[], unused: readonly unknown[] | undefined])[] = [
    [['fs', 'read'], fs?.read], [['fs', 'write'], fs?.write], [['net', 'hosts'], net?.hosts], [['shell'], shell],
    [['capabilities'], capabilities],
  ]
  return parts.flatMap(([steps, unused = []]) => {
    const forms = new Set(unused.map((value) => canonicalJson(value as Json)))
    return itemsOf(steps.reduce(memberOf, requires), steps, (item) => forms.has(canonicalJson(item)))
  })
}

const memberOf = (value: Json, step: string): Json => (isJsonObject(value) ? value[step] : undefined) ?? null

const itemsOf = (
  list: Json | undefined, steps: readonly string[], isUnused: (item: Json) => boolean,
): readonly Place[] => listOf(list).flatMap((item, index) => {
  const written = typeof item === 'string' ? item : JSON.stringify(item)
  return isUnused(item) ? [{ steps: [...steps, index], shown: `${steps.join('.')} ${written}` }] : []
})

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []
