import { isDeepStrictEqual } from 'node:util'
import { CALL_LIMITS, COMPARTMENT_LIMITS, SECURITY_MODES, type ConfigFile } from '@bulkhead/contract'
import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { JOINED_LISTS, MERGED_MAPS, placeBelow } from './places.ts'

/** A setting of a layer that is not known to be stricter than before. */
export interface LooseningSetting {
  /** JSON Pointer in the layer's file. */
  readonly path: string
  readonly value: Json
  /** The value without this layer; undefined if not set. */
  readonly before: Json | undefined
}

/**
 * The settings of `config` that loosen `below`. Leaves out only changes that are known to tighten or to have no effect,
 * so a new configuration key is listed until it is classified here. Servers and documents are shown separately.
 */
export function looseningSettings(config: ConfigFile, below: ConfigFile): readonly LooseningSetting[] {
  const { $schema: _schema, mcp: _mcp, openapi: _openapi, lsp: _lsp, ...settings } = config
  return leaves(settings as unknown as Json, below as unknown as Json).filter(loosens).map(settingOf)
}

const loosens = ({ place, value, before }: Leaf): boolean =>
  !isDeepStrictEqual(value, before) && !tightens(place, value, before)

const settingOf = ({ at, value, before }: Leaf): LooseningSetting =>
  ({ path: at.map(pointerStep).join(''), value, before })

/** Keys that each layer has for itself, and rules, which are compared when a call is decided. */
const OWN: ReadonlySet<string> = new Set(['$schema', 'packages', 'mcp', 'openapi', 'lsp', 'rules'])

/**
 * A project with the settings that count beside what others wrote, and those that do not. A project tightens what is
 * written, and loosens defaults only. Entries for an allowlist do not count beside a mode that is written.
 */
export function withinWritten(
  project: ConfigFile, written: ConfigFile,
): { readonly config: ConfigFile; readonly ignored: readonly LooseningSetting[] } {
  const ignored: LooseningSetting[] = []
  const keep = (value: Json, before: Json | undefined, at: readonly string[], place: string): Json | undefined => {
    if (place === 'mode' && value === LEARNING) {
      ignored.push({ path: '/mode', value, before })
      return undefined
    }
    if (OWN.has(place)) return value
    if (isJsonObject(value) && MERGED_MAPS.has(place)) {
      return Object.fromEntries(Object.entries(value).flatMap(([key, member]) => {
        const kept = keep(member, memberOf(before, key), [...at, key], placeBelow(place, key))
        return kept === undefined ? [] : [[key, kept]]
      }))
    }
    const bound = place === 'allowlist' ? askingMode(written) : before
    if (bound === undefined || (JOINED_LISTS.has(place) && place !== 'allowlist')) return value
    const leaf = { at, place, value, before: bound }
    if (!loosens(leaf)) return value
    ignored.push(settingOf(leaf))
    return undefined
  }
  return { config: keep(project as unknown as Json, written as unknown as Json, [], '') as ConfigFile, ignored }
}

/** A project could make its own calls run without a question. */
export const LEARNING = 'learn'

/** These modes ask nothing that an allowlist could answer. */
const askingMode = ({ mode }: ConfigFile): string | undefined => mode === 'yolo' || mode === LEARNING ? undefined : mode

interface Leaf {
  readonly at: readonly string[]
  /** The path with `*` in place of user-defined names. */
  readonly place: string
  readonly value: Json
  readonly before: Json | undefined
}

/** Entries of joined lists are leaves, and so is everything that is replaced as a whole. */
function leaves(value: Json, before: Json | undefined, at: readonly string[] = [], place = ''): readonly Leaf[] {
  if (Array.isArray(value) && JOINED_LISTS.has(place)) {
    return (value as readonly Json[]).map((entry, index) =>
      ({ at: [...at, String(index)], place: `${place}/*`, value: entry, before: undefined }))
  }
  if (!isJsonObject(value) || !MERGED_MAPS.has(place)) return [{ at, place, value, before }]
  return Object.entries(value).flatMap(([key, member]) =>
    leaves(member, memberOf(before, key), [...at, key], placeBelow(place, key)))
}

const memberOf = (value: Json | undefined, key: string): Json | undefined =>
  isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

export type IsStricter = (value: Json, before: Json | undefined) => boolean

/** `order` starts with the strictest. `unset` is the default. */
export const stricterIn = (order: readonly string[], unset: string): IsStricter => (value, before) =>
  order.includes(value as string) && order.indexOf(value as string) <= order.indexOf((before ?? unset) as string)
export const lowerThan = (unset: number): IsStricter => (value, before) => Number(value) <= Number(before ?? unset)
const lower = lowerThan(Number.POSITIVE_INFINITY)
const switchedOff: IsStricter = (value, before) => value === false || before === undefined
const noEffect: IsStricter = () => true
const level = stricterIn(['require', 'warn', 'off'], 'require')
const widening = stricterIn(['refuse', 'major', 'consent'], 'major')
const placement = stricterIn(['process', 'thread', 'inline'], 'process')
const pinned: IsStricter = (_, before) => before === undefined

/** When a change is stricter or has no effect, by path. Other changes count as loosening. */
const STRICTER: readonly (readonly [RegExp, IsStricter])[] = [
  [/^mode$/, stricterIn(SECURITY_MODES, 'ask')],
  [/^rules\/\*$/, (rule) => isJsonObject(rule) && rule['action'] !== 'allow'],
  [/^roles\/\*$/, (allowed) => allowed === false],
  [/^toolsEnabled$|^sandbox\/os$|^audit\/require$|^approvals\/projectDays$|^watchdogs(?:\/|$)/, noEffect],
  [/^policy\/conformance\/|^commands\/|^treatment\/|^store\/|^learn\/|^record$|^extensions\/\*\/runsOn$/, noEffect],
  [/^approvals\/sessionMinutes$|^budget\/|^search\/callsPerSession$|^(?:tools\/\*|search)\/timeoutMs$/, lower],
  [/^retries\/attempts$/, lowerThan(CALL_LIMITS.attempts)],
  [/^(?:tools\/\*|extensions\/\*|skills)\/enabled$/, switchedOff],
  [/^approvals\/project$/, (value) => value === false],
  [/^audit\/enabled$/, (value) => value === true],
  [/^audit\/arguments$/, (value) => value === false],
  [/^isolation\/(?:global|project)$|^extensions\/\*\/isolation$/, placement],
  [/^policy\/(?:integrity|signature|lock)\/|^policy\/scopes\/\*\/(?:integrity|signature|lock)$/, level],
  [/^policy\/update\/widening$|^policy\/scopes\/\*\/widening$/, widening],
  [/^policy\/identities\/\*$/, pinned],
  // All apply together.
  [/^policy\/ceiling$/, noEffect],
]

function tightens(place: string, value: Json, before: Json | undefined): boolean {
  const limit = /^(?:extensions\/\*\/)?limits\/(\w+)$/.exec(place)?.[1]
  if (limit !== undefined && Object.hasOwn(COMPARTMENT_LIMITS, limit)) {
    return lowerThan(COMPARTMENT_LIMITS[limit as keyof typeof COMPARTMENT_LIMITS].most)(value, before)
  }
  return STRICTER.some(([pattern, isStricter]) => pattern.test(place) && isStricter(value, before))
}
