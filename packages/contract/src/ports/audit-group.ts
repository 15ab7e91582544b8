import type { Json, JsonObject } from '../json.ts'

/** What many records say alike, and the names of what each of them says for itself. */
export interface AuditForm {
  readonly same: JsonObject
  readonly own: readonly string[]
  /** The last of its own values is a text, of which no more is kept than its SHA-256, in hex. Whoever keeps it takes the digest. */
  readonly digested?: true
}

/** One record: the number of its form, then its own values in the order of their names. */
export type AuditRow = readonly [form: number, ...own: Json[]]

/** Records that are kept together, in their order. Contract: plain JSON. */
export interface AuditGroup {
  readonly forms: readonly AuditForm[]
  readonly rows: readonly AuditRow[]
}

/** A row as the record it stands for, its members in order. Contract: what is kept of the row. */
export function auditRecord({ same, own }: AuditForm, [, ...values]: AuditRow): JsonObject {
  const members = [...Object.entries(same), ...own.map((name, index): [string, Json] => [name, values[index] ?? null])]
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
