import { BulkheadError, type Store } from '@bulkhead/contract'
import { UsageError } from '../command.ts'

/** The audit of one host. That of a store with a single one has no name. */
export type NamedAudit = Pick<Store, 'records' | 'auditSpan' | 'archive'> & { readonly name: string }

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
export function onlyAudit(chains: readonly NamedAudit[]): NamedAudit {
  const [first, ...more] = chains
  if (first && more.length === 0) return first
  const names = chains.map(({ name }) => name).join(', ')
  throw new UsageError(first ? `Several hosts share the store. Choose one with --host: ${names}.` : 'There are no records.')
}
