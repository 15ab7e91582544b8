import { isDeepStrictEqual } from 'node:util'
import { COMPARTMENT_LIMITS, SECURITY_MODES, type ConfigFile } from '@bulkhead/contract'
import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'

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
  return leaves(settings as unknown as Json, below as unknown as Json, [])
    .filter(({ at, value, before }) => !isDeepStrictEqual(value, before) && !tightens(at, value, before))
    .map(({ at, value, before }) => ({ path: at.map(pointerStep).join(''), value, before }))
}

interface Leaf {
  readonly at: readonly string[]
  readonly value: Json
  readonly before: Json | undefined
}

/** Lists that are appended to those of lower layers. */
const JOINED: ReadonlySet<string> = new Set(['rules', 'allowlist'])
/** Replaced as a whole. */
const WHOLE: ReadonlySet<string> = new Set(['policy/ceiling', 'policy/identities/*'])

function leaves(value: Json, before: Json | undefined, at: readonly string[]): readonly Leaf[] {
  const place = placeOf(at)
  if (Array.isArray(value) && JOINED.has(place)) {
    return value.map((entry, index) => ({ at: [...at, String(index)], value: entry, before: undefined }))
  }
  if (!isJsonObject(value) || WHOLE.has(place)) return [{ at, value, before }]
  return Object.entries(value).flatMap(([key, member]) =>
    leaves(member, isJsonObject(before) && Object.hasOwn(before, key) ? before[key] : undefined, [...at, key]))
}

/** The path with `*` in place of user-defined names. */
const placeOf = (at: readonly string[]): string => {
  const named = new Set(['tools', 'extensions', 'roles', 'rules', 'allowlist'])
  return at.map((key, index) => {
    if (index === 1 && named.has(at[0]!)) return '*'
    return index === 2 && at[0] === 'policy' && (at[1] === 'scopes' || at[1] === 'identities') ? '*' : key
  }).join('/')
}

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
  [/^policy\/conformance\//, noEffect],
  [/^approvals\/sessionMinutes$|^budget\/|^search\/callsPerSession$|^(?:tools\/\*|search)\/timeoutMs$/, lower],
  [/^(?:tools\/\*|extensions\/\*|skills)\/enabled$/, switchedOff],
  [/^audit\/enabled$/, (value) => value === true],
  [/^audit\/arguments$/, (value) => value === false],
  [/^isolation\/(?:global|project)$|^extensions\/\*\/isolation$/, placement],
  [/^policy\/(?:integrity|signature|lock)\/|^policy\/scopes\/\*\/(?:integrity|signature|lock)$/, level],
  [/^policy\/update\/widening$|^policy\/scopes\/\*\/widening$/, widening],
  [/^policy\/(?:ceiling|identities\/\*)$/, pinned],
]

function tightens(at: readonly string[], value: Json, before: Json | undefined): boolean {
  const place = placeOf(at)
  const limit = /^(?:extensions\/\*\/)?limits\/(\w+)$/.exec(place)?.[1]
  if (limit !== undefined && Object.hasOwn(COMPARTMENT_LIMITS, limit)) {
    return lowerThan(COMPARTMENT_LIMITS[limit as keyof typeof COMPARTMENT_LIMITS].most)(value, before)
  }
  return STRICTER.some(([pattern, isStricter]) => pattern.test(place) && isStricter(value, before))
}
