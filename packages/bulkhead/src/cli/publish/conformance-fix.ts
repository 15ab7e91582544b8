import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UnusedPowers } from '@bulkhead/conformance'
import { BulkheadError, MANIFEST_FILE, type Manifest, type RequirementSet } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { removeJson } from '@bulkhead/kit/json-edit'
import { UsageError } from '../command.ts'
import { replaceFile, writing } from '../write-file.ts'

export interface Removal {
  readonly file: string
  /** Each as the publisher wrote it. */
  readonly removed: readonly string[]
  /** Unused powers that the file does not declare, because `pack` generates that part of the manifest from the code. */
  readonly left: readonly string[]
}

export interface FixedExtension {
  /** The whole manifest, as a host reads it. */
  readonly manifest: Manifest
  readonly unused: UnusedPowers
}

/**
 * Removes unused powers from the manifest of a folder, and keeps the rest of the file as it is written. `verify` reads
 * the folder again; if it throws, the file is restored.
 */
export async function removeUnused(
  folder: string, { manifest: whole, unused }: FixedExtension, verify: () => Promise<unknown>,
): Promise<Removal> {
  const isOwn = existsSync(join(folder, MANIFEST_FILE))
  const name = isOwn ? MANIFEST_FILE : 'package.json'
  const file = join(folder, name)
  if (!existsSync(file)) throw new UsageError('--fix needs a manifest file, and the folder has none.')
  const text = readFileSync(file, 'utf8')
  const written = JSON.parse(text) as JsonObject
  const manifest = isOwn ? written : written['bulkhead']
  const places = isJsonObject(manifest) ? placesOf(manifest, unused) : []
  const removed = places.map(({ shown }) => shown)
  const keys = new Set(places.map(({ key }) => key))
  const left = placesOf(whole as unknown as JsonObject, unused).filter(({ key }) => !keys.has(key))
    .map(({ shown }) => shown)
  if (places.length === 0) return { file: name, removed, left }
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
  return { file: name, removed, left }
}

interface Place {
  readonly steps: readonly (string | number)[]
  readonly shown: string
  /** The same for the same power, in whatever order its members are written. */
  readonly key: string
}

const STATE: Place = { steps: ['stateSlot'], shown: 'stateSlot', key: 'stateSlot' }

/** Where the manifest names the unused powers. */
function placesOf(manifest: JsonObject, { tools, env, secrets, state }: UnusedPowers): readonly Place[] {
  const inTools = listOf(manifest['tools']).flatMap((tool, index) => {
    const { name: given, requires } = isJsonObject(tool) ? tool : {}
    const name = String(given)
    const found = tools.get(name)
    return found === undefined ? [] : placesInTool(requires ?? {}, found).map(({ steps, shown, key }) => ({
      steps: ['tools', index, 'requires', ...steps], shown: `${name}: ${shown}`, key: `${name} ${key}`,
    }))
  })
  return [
    ...inTools,
    ...itemsOf(manifest['env'], ['env'], (name) => env.includes(name as string)),
    ...itemsOf(manifest['secrets'], ['secrets'], (secret) =>
      isJsonObject(secret) && secrets.includes(secret['name'] as string)),
    ...(state && manifest['stateSlot'] !== undefined ? [STATE] : []),
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
  const name = steps.join('.')
  return isUnused(item)
    ? [{ steps: [...steps, index], shown: `${name} ${written}`, key: `${name} ${canonicalJson(item)}` }] : []
})

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []
