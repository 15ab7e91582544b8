import { open } from 'node:fs/promises'
import { BulkheadError, type Store } from '@bulkhead/contract'
import { UsageError } from '../command.ts'
import { withStore, type StorePlace } from '../host-options.ts'
import { openExport } from './audit-export.ts'

/** The audit of one host. That of a store with a single one has no name. */
export type NamedAudit = Pick<Store, 'records' | 'auditSpan' | 'archive'> & { readonly name: string }

/** An audit that is only read: in a store, or in an exported or archived file. */
export type ReadAudit = Omit<NamedAudit, 'archive'>

/** Reads the audits of a store, or of a file that `audit export` or `audit archive` wrote. Rejects with StoreUnavailable. */
export async function withAudits<Value>(
  place: StorePlace, host: string | undefined, use: (audits: readonly ReadAudit[]) => Promise<Value>,
): Promise<Value> {
  if (place.store === undefined || !await isExport(place.store)) {
    return withStore(place, 'audit', async (store) => use(await auditsOf(store, host)))
  }
  using exported = await openExport(place.store)
  return await use([{
    name: '', records: (from, limit) => exported.records(from, limit), auditSpan: () => exported.auditSpan(),
  }])
}

/** A database does not begin with the span of an export. */
async function isExport(name: string): Promise<boolean> {
  if (name.includes('://')) return false
  try {
    await using file = await open(name)
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(1) })
    return bytesRead === 1 && buffer.toString('latin1') === '{'
  } catch {
    return false
  }
}

/** The audits in a store, or that of one host. Rejects with NotFound. */
export async function auditsOf(store: Store, host: string | undefined): Promise<readonly NamedAudit[]> {
  const chains = await store.chains?.()
  if (!chains) {
    if (host !== undefined) throw new UsageError('--host is for a store that several hosts share. Leave it out.')
    return [{ name: '', ...named(store) }]
  }
  const found = chains.filter(({ name }) => host === undefined || name === host)
  if (found.length === 0 && host !== undefined) {
    const names = chains.map(({ name }) => name).join(', ') || 'none'
    throw new BulkheadError('NotFound', `The store has no audit of a host "${host}". There are: ${names}.`)
  }
  return found.map((chain) => ({ name: chain.name, ...named(chain) }))
}

const named = (chain: Omit<NamedAudit, 'name'>): Omit<NamedAudit, 'name'> => ({
  records: (from, limit) => chain.records(from, limit), auditSpan: () => chain.auditSpan(),
  archive: (last, link, by) => chain.archive!(last, link, by),
})

/** For what is about one chain. Throws UsageError if there are several. */
export function onlyAudit<Audit extends ReadAudit>(chains: readonly Audit[]): Audit {
  const [first, ...more] = chains
  if (first && more.length === 0) return first
  const names = chains.map(({ name }) => name).join(', ')
  throw new UsageError(first ? `Several hosts share the store. Choose one with --host: ${names}.` : 'There are no records.')
}
