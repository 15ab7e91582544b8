import { isDeepStrictEqual } from 'node:util'
import type { LayerConfig, ResolvedConfig } from '@bulkhead/contract'
import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { BOUNDED_LISTS, JOINED_LISTS, MERGED_MAPS, placeBelow } from './places.ts'

/** One effective setting and the layer that decides it. */
export interface SettingOrigin extends Pick<LayerConfig, 'layer' | 'location'> {
  /** JSON Pointer in the effective configuration. */
  readonly path: string
  readonly value: Json
}

/** Every effective setting, in the order of the configuration. Entries of joined lists and servers are settings. */
export const settingOrigins = ({ merged, layers }: ResolvedConfig): readonly SettingOrigin[] =>
  settingsIn(merged as unknown as Json, [], '', layers)

type Steps = readonly (string | number)[]

function settingsIn(
  value: Json, steps: Steps, place: string, layers: readonly LayerConfig[],
): readonly SettingOrigin[] {
  if (JOINED_LISTS.has(place) && Array.isArray(value)) return joinedEntries(steps, layers)
  if (isJsonObject(value) && MERGED_MAPS.has(place)) {
    return Object.entries(value)
      .flatMap(([key, member]) => settingsIn(member, [...steps, key], placeBelow(place, key), layers))
  }
  if (place === 'policy/ceiling') {
    // All apply together.
    return layers.flatMap((layer) => {
      const own = memberAt(layer, steps)
      return own === undefined ? [] : [settingOf(steps, own, layer)]
    })
  }
  if (/^(?:mcp|openapi|lsp)\//.test(place)) return [ownedEntry(steps, layers)]
  const counting = place.startsWith('commands/') ? layers.filter(({ layer }) => layer !== 'project') : layers
  const origin = counting.findLast((layer) => isDeepStrictEqual(memberAt(layer, steps), value))
    // A machine has shortened it.
    ?? (BOUNDED_LISTS.has(place) ? layers.find(({ layer }) => layer === 'machine') : undefined)
  return origin === undefined ? [] : [settingOf(steps, value, origin)]
}

/** In the order of the layers, as they are merged. */
function joinedEntries(steps: Steps, layers: readonly LayerConfig[]): readonly SettingOrigin[] {
  const entries = layers.flatMap((layer) => {
    const list = memberAt(layer, steps)
    return Array.isArray(list) ? (list as readonly Json[]).map((value) => ({ value, layer })) : []
  })
  return entries.map(({ value, layer }, index) => settingOf([...steps, index], value, layer))
}

/**
 * The first layer that names a server or document owns it, as in the bridges: a later one can disable the same one or
 * shorten its timeout. Only options of the host can replace it.
 */
function ownedEntry(steps: Steps, layers: readonly LayerConfig[]): SettingOrigin {
  const named = layers.flatMap((layer) => {
    const value = memberAt(layer, steps)
    return isJsonObject(value) ? [{ layer, value }] : []
  })
  const owner = named.findLast(({ layer }) => layer.layer === 'embedder') ?? named[0]!
  const same = named.filter(({ value }) => isDeepStrictEqual(identityOf(value), identityOf(owner.value)))
  const times = same.map(({ value }) => value['timeoutMs']).filter((ms) => typeof ms === 'number')
  return settingOf(steps, {
    ...owner.value, ...(same.some(({ value }) => value['enabled'] === false) && { enabled: false }),
    ...(times.length > 0 && { timeoutMs: Math.min(...times) }),
  }, owner.layer)
}

const identityOf = ({ enabled: _, timeoutMs: _ms, env, headers = {}, ...rest }: JsonObject): object =>
  ({ ...rest, headers, env: Array.isArray(env) ? env.toSorted() : [] })

const settingOf = (steps: Steps, value: Json, { layer, location }: LayerConfig): SettingOrigin =>
  ({ path: steps.map(pointerStep).join(''), value, layer, location })

function memberAt({ config }: LayerConfig, steps: Steps): Json | undefined {
  return steps.reduce<Json | undefined>(
    (value, step) => isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined,
    config as unknown as Json,
  )
}
