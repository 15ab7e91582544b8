import type { ConfigFile, Store } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const MIB = 1024 ** 2

/** How long what hosts record is kept, in milliseconds. */
export interface Retention {
  /** A session without changes. */
  readonly sessionMs: number
  /** The outcome of an idempotency key, and that a question was answered. */
  readonly outcomeMs: number
  /** A call that waits for an answer. */
  readonly pausedMs: number
  /** An approval after its end. */
  readonly approvalMs: number
  /** A recorded session after its last call. */
  readonly recordMs: number
  /** All recorded sessions. */
  readonly recordBytes: number
  /** undefined: until it is archived. */
  readonly auditMs: number | undefined
}

export function retentionOf({ store }: Pick<ConfigFile, 'store'>): Retention {
  const { sessionDays = 7, outcomeHours = 24, pausedDays = 90, approvalDays = 90, auditDays } = store?.retention ?? {}
  const { recordDays = 7, recordMiB = 256 } = store?.retention ?? {}
  return {
    sessionMs: sessionDays * DAY_MS, outcomeMs: outcomeHours * HOUR_MS, pausedMs: pausedDays * DAY_MS,
    approvalMs: approvalDays * DAY_MS,
    recordMs: recordDays * DAY_MS, recordBytes: recordMiB * MIB, auditMs: auditDays === undefined ? undefined : auditDays * DAY_MS,
  }
}

type Audit = Pick<Store, 'records' | 'auditSpan'> & Pick<Required<Store>, 'archive'>

/** Records read at a time. */
const PAGE = 1_000

/** Removes records of all audits that are older than `before`. Rejects with StoreUnavailable. */
export async function cutAudits(store: Store, before: number, by: string): Promise<void> {
  const { archive } = store
  const own: readonly Audit[] = archive
    ? [{ records: (from, limit) => store.records(from, limit), auditSpan: () => store.auditSpan(), archive }] : []
  for (const audit of await store.chains?.() ?? own) await cut(audit, before, by)
}

/** Records that were written together go together. Another host that does the same makes one of the two fail. */
async function cut(audit: Audit, before: number, by: string): Promise<void> {
  const { first, last } = await audit.auditSpan()
  let end: { readonly position: number; readonly link: string } | undefined
  for (let from = Math.max(1, first); from <= last; from += PAGE) {
    for (const { position, record, link } of await audit.records(from, PAGE)) {
      const at = Date.parse(String(isJsonObject(record) ? record['at'] : undefined))
      if (!(at < before)) return archiveUpTo(audit, end, by)
      if (link !== null) end = { position, link }
    }
  }
  return archiveUpTo(audit, end, by)
}

async function archiveUpTo(
  audit: Audit, end: { readonly position: number; readonly link: string } | undefined, by: string,
): Promise<void> {
  if (end) await audit.archive(end.position, end.link, by)
}
