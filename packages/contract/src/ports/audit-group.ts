import type { Json, JsonObject } from '@bulkhead/kit/json'

/** What many records say alike, and the names of what each of them says for itself. */
export interface AuditForm {
  readonly same: JsonObject
  readonly own: readonly string[]
}

/** One record: the number of its form, then its own values in the order of their names. */
export type AuditRow = readonly [form: number, ...own: Json[]]

/** Records that are kept together, in their order. Contract: plain JSON. */
export interface AuditGroup {
  readonly forms: readonly AuditForm[]
  /** The values of an AuditRow each, as JSON: what stands between the brackets of the list. */
  readonly rows: readonly string[]
  /**
   * One for each row: a text of which no more is kept than its SHA-256, in hex, as one more value of the row; undefined where there is
   * none. Whoever keeps the group takes the digest.
   */
  readonly texts: readonly (string | undefined)[]
}

/** The record that a row stands for, its members in order. */
export function auditRecord({ same, own }: AuditForm, [, ...values]: AuditRow): JsonObject {
  const members = [...Object.entries(same), ...own.map((name, index): [string, Json] => [name, values[index] ?? null])]
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
