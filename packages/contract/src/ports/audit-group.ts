import type { Json, JsonObject } from '../json.ts'

/** What many records say alike, and the names of what each of them says for itself. */
export interface AuditForm {
  readonly same: JsonObject
  readonly own: readonly string[]
  /** The last of its own members is in no row: it is the digest of the next text of the group. */
  readonly digested?: true
}

/** One record: the number of its form, then its own values in the order of their names. */
export type AuditRow = readonly [form: number, ...own: Json[]]

/** Records that are kept together, in their order. Contract: plain JSON. */
export interface AuditGroup {
  readonly forms: readonly AuditForm[]
  readonly rows: readonly AuditRow[]
  /** Of which no more is kept than the SHA-256, in hex; whoever keeps the group takes it. One for each row of a digested form. */
  readonly texts: readonly string[]
}

/** A row as the record it stands for, its members in order. Contract: with its digest, where its form has one. */
export function auditRecord({ same, own }: AuditForm, [, ...values]: AuditRow): JsonObject {
  const members = [...Object.entries(same), ...own.map((name, index): [string, Json] => [name, values[index] ?? null])]
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
