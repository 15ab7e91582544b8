import { TRUST_DECISIONS, type TrustRecord } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'
import { parseStrictJson } from '../files/strict-json.ts'

/** One line of the record. `used` says that a decision for one start was taken up by the start of that id. */
export interface TrustEntry extends Omit<TrustRecord, 'decision'> {
  readonly decision: TrustRecord['decision'] | 'used'
  readonly id: string
}

const VERSION = 1
const DECISIONS: ReadonlySet<unknown> = new Set([...TRUST_DECISIONS, 'used'])
const KEYS: ReadonlySet<string> = new Set(['version', 'id', 'path', 'decision', 'decidedAt', 'digest'])

export const isDigest = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{128}$/.test(value)

export const writeEntry = ({ id, path, decision, decidedAt, digest }: TrustEntry): string =>
  `${JSON.stringify({ version: VERSION, id, path, decision, decidedAt, digest })}\n`

/** The entry, or what is wrong with the line in words that go on after its number. */
export function parseEntry(line: Uint8Array): TrustEntry | string {
  const parsed = parseStrictJson(line)
  if (!parsed.ok) return parsed.message
  if (!isJsonObject(parsed.value)) return 'is not an object'
  const { version, id, path, decision, decidedAt, digest } = parsed.value
  if (version !== VERSION) return `is not of version ${VERSION}`
  const unknown = Object.keys(parsed.value).find((key) => !KEYS.has(key))
  if (unknown !== undefined) return 'has an unknown key'
  if (typeof id !== 'string' || id === '') return 'has no id'
  if (typeof path !== 'string' || path === '') return 'has no path'
  if (!DECISIONS.has(decision)) return 'has no decision that is known'
  if (typeof decidedAt !== 'string' || Number.isNaN(Date.parse(decidedAt))) return 'does not say when'
  if (digest !== null && !isDigest(digest)) return 'has no digest'
  // Trust in a path alone would be trust in whatever comes to stand there.
  if (digest === null && (decision === 'trusted' || decision === 'once')) return 'trusts without saying what'
  return { id, path, decision: decision as TrustEntry['decision'], decidedAt, digest }
}
