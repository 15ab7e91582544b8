import { isKeyWithin, SECURITY_MODES, type ConfigFile, type LayerConfig } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { isWithin } from '@bulkhead/kit/programs'
import { lowerThan, stricterIn, type IsStricter } from './loosening.ts'
import { BOUNDED_LISTS, JOINED_LISTS, MERGED_MAPS, placeBelow } from './places.ts'

/**
 * The effective configuration. Later layers override earlier ones, except where a layer can only restrict. Maps in the
 * result have no prototype, because a tool may be named `constructor`.
 */
export function mergeLayers(layers: readonly LayerConfig[]): ConfigFile {
  const parts = layers.map(partsOf)
  const overridden = parts.reduce<Json>((merged, { overrides }) => merge(merged, overrides, ''), {})
  const whole = parts.reduce<Json>((merged, { restrictions }) => restrict(merged, restrictions, '') ?? {}, overridden)
  return deepFreeze(whole as ConfigFile)
}

/**
 * A machine only restricts. A project, which may be third-party, cannot lengthen approvals or disable watchdogs, and has
 * no say in what commands see and get, in how modes of tools are treated, in what is recorded and where, nor in where
 * code runs.
 */
function partsOf({ layer, config }: LayerConfig): Readonly<Record<'overrides' | 'restrictions', JsonObject>> {
  const all = config as unknown as JsonObject
  if (layer === 'machine') return { overrides: {}, restrictions: all }
  if (layer !== 'project') return { overrides: all, restrictions: {} }
  const { approvals, watchdogs, commands: _commands, treatment: _treatment, store: _store, record: _record, learn: _learn, ...counting } = all
  const overrides = { ...counting, ...(config.extensions && { extensions: onThisMachine(config.extensions) }) }
  return { overrides, restrictions: { ...(approvals && { approvals }), ...(watchdogs && { watchdogs }) } }
}

/** A project may not send code and arguments to other machines. */
const onThisMachine = (extensions: NonNullable<ConfigFile['extensions']>): JsonObject =>
  Object.fromEntries(Object.entries(extensions).map(([id, { runsOn: _runsOn, ...own }]) => [id, own])) as unknown as JsonObject

type Combine = (earlier: Json | undefined, later: Json, place: string) => Json | undefined

/** Merges what every layer merges: maps and joined lists. undefined for any other place. */
function mergeParts(earlier: Json | undefined, later: Json, place: string, combine: Combine): Json | undefined {
  if (JOINED_LISTS.has(place) && Array.isArray(later)) return [...(Array.isArray(earlier) ? earlier : []), ...later]
  if (!isJsonObject(later) || !MERGED_MAPS.has(place)) return undefined
  const merged: Record<string, Json> = Object.assign(Object.create(null), isJsonObject(earlier) ? earlier : {})
  for (const [key, value] of Object.entries(later)) {
    const combined = combine(Object.hasOwn(merged, key) ? merged[key] : undefined, value, placeBelow(place, key))
    if (combined !== undefined) merged[key] = combined
  }
  return merged
}

function merge(earlier: Json | undefined, later: Json, place: string): Json {
  // No layer can undo these restrictions of a lower one.
  if (place === 'toolsEnabled' && earlier === false) return false
  if (place === 'sandbox/os' && earlier === 'require') return earlier
  if ((place === 'audit/require' || place === 'policy/conformance/require') && earlier === true) return true
  return mergeParts(earlier, later, place, merge) ?? later
}

/** What the host uses if no layer sets it. */
const PROJECT_DAYS = 30

const stricterSeverity = stricterIn(['critical', 'warning', 'off'], 'off')

/** When a value of a layer that can only restrict replaces the one below. Other values always do. */
const RESTRICTIONS: readonly (readonly [RegExp, IsStricter])[] = [
  [/^mode$/, stricterIn(SECURITY_MODES, 'ask')],
  [/(?:^|\/)widening$/, stricterIn(['refuse', 'major', 'consent'], 'major')],
  // All apply, see ceilingsOf.
  [/^policy\/ceiling$/, (_, before) => before === undefined],
  // The host compares it with the preset, see treatmentTable.
  [/^treatment\//, () => false],
  [/^approvals\/project$/, (value) => value === false],
  [/^approvals\/projectDays$/, lowerThan(PROJECT_DAYS)],
  [/^approvals\/sessionMinutes$/, lowerThan(Number.POSITIVE_INFINITY)],
  [/^watchdogs\/commandSafety\/enabled$/, (value) => value === true],
  [/^watchdogs\/commandSafety\/severity\//, (value, before) => value !== 'off' && stricterSeverity(value, before)],
]

function restrict(earlier: Json | undefined, later: Json, place: string): Json | undefined {
  if (place === 'commands/keys') return boundedKeys(earlier as Keys | undefined, later as unknown as Keys)
  const merged = mergeParts(earlier, later, place, restrict)
  if (merged !== undefined) return merged
  if (BOUNDED_LISTS.has(place) && Array.isArray(later)) return bounded(earlier, later as readonly string[])
  const isStricter = RESTRICTIONS.find(([pattern]) => pattern.test(place))?.[1]
  return isStricter === undefined || isStricter(later, earlier) ? later : earlier
}

/** A name, or a path inside a folder. */
const bounded = (given: Json | undefined, most: readonly string[]): Json | undefined =>
  Array.isArray(given)
    ? (given as readonly string[]).filter((one) => most.some((folder) => isWithin(one, folder))) : undefined

type Keys = NonNullable<NonNullable<ConfigFile['commands']>['keys']>

/** A narrower key stays as it is. Any other one is left out. */
function boundedKeys(given: Keys | undefined, most: Keys): Json | undefined {
  const kept = Object.entries(given ?? {})
    .filter(([name, key]) => Object.hasOwn(most, name) && isKeyWithin(key, most[name]!))
  return given && Object.assign(Object.create(null) as JsonObject, Object.fromEntries(kept) as unknown as JsonObject)
}
