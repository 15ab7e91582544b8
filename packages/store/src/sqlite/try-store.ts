import { dirname } from 'node:path'
import type { AuditSpan } from '@bulkhead/contract'
import { isAbsent } from '@bulkhead/kit/folders'
import { JournalFiles } from './journal-file.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import { changesFile, SqliteChanges } from './sqlite-changes.ts'

/** What opening every file of a store has shown. */
export interface StoreTrial {
  /** undefined if there is no store yet, or none that can be opened. */
  readonly audit: AuditSpan | undefined
  /** StoreUnavailable, for each file that cannot be used. */
  readonly faults: readonly unknown[]
}

/** Opens every file that a store has: the database, the record of changes and the journals of calls. Creates none. */
export async function tryStore(file: string): Promise<StoreTrial> {
  const faults: unknown[] = []
  const attempt = async <Value>(path: string, use: () => Promise<Value>): Promise<Value | undefined> => {
    try {
      return isAbsent(path) ? undefined : await use()
    } catch (error) {
      faults.push(error)
      return undefined
    }
  }
  const audit = await attempt(file, async () => {
    const store = await openSqliteStore({ file })
    return store.auditSpan().finally(() => store.close())
  })
  await attempt(changesFile(file), async () => {
    const changes = new SqliteChanges(changesFile(file))
    return changes.list({ after: Number.MAX_SAFE_INTEGER }).finally(() => changes.close())
  })
  await attempt(dirname(file), async () => {
    const journals = new JournalFiles(file)
    const read = await Promise.allSettled((await journals.owners()).map((owner) => journals.left(owner)))
    faults.push(...read.flatMap((one) => one.status === 'rejected' ? [one.reason] : []))
  })
  return { audit, faults }
}
