import { hostname } from 'node:os'
import {
  BulkheadError, STORE_COLLECTIONS, type AdoptedRecords, type AuditChain, type AuditEntry, type NewChange,
  type RecordedChange, type Store,
} from '@bulkhead/contract'
import { canonicalJson } from '@bulkhead/kit/json'
import { verifyAudit } from '@bulkhead/store'
import type { StoreChoice } from '../../facade/store-choice.ts'
import { openChosen } from '../host-options.ts'

export interface CopyReport {
  readonly records: number
  readonly changes: number
  /** Records of all audits. */
  readonly audit: number
}

/** What people read while it runs. */
type Tell = (text: string) => void

const PAGE = 1_000

const refused = (message: string): BulkheadError => new BulkheadError('StoreUnavailable', message)

/**
 * Copies everything that hosts keep. Rejects with StoreUnavailable if a host uses the old store, if the new one is not
 * empty, or if an audit is not intact before or after the copy.
 */
export async function copyStore(from: StoreChoice, to: StoreChoice, tell: Tell): Promise<CopyReport> {
  const source = await openChosen(from)
  try {
    await requireIdle(source)
    const target = await openChosen(to)
    try {
      await requireEmpty(target)
      return await copyAll(source, target, tell)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function copyAll(source: Store, target: Store, tell: Tell): Promise<CopyReport> {
  const chains = await chainsOf(source)
  if (!target.chains && chains.length > 1) {
    throw refused(`The store has the audits of ${chains.length} hosts, and a file keeps one. Archive the others first: `
      + 'bulkhead audit archive FILE --host NAME --keep 0.')
  }
  // Before anything is written: a broken audit must not look like one that the copy has broken.
  for (const chain of chains) await requireIntact(chain, 'the old store')
  const records = await copyRecords(source, target, tell)
  const changes = await copyChanges(source, target)
  tell(`${changes} changes`)
  let audit = 0
  for (const chain of chains) audit += await copyAudit(chain, target, tell)
  const freeze = await source.work?.frozen()
  if (freeze) await target.work?.freeze(freeze)
  return { records, changes, audit }
}

/** What runs would go on to write to the old store. */
async function requireIdle({ work }: Store): Promise<void> {
  for (const { id, state, machine, pid, calls } of await work?.hosts() ?? []) {
    const who = `Host ${id} (process ${pid} of ${machine || 'this machine'})`
    if (state !== 'gone') throw refused(`${who} uses the old store. Stop it first.`)
    if (calls.length > 0) throw refused(`${who} has left calls open. Start a host on the old store once, so that it settles them.`)
  }
}

async function requireEmpty(target: Store): Promise<void> {
  const found = [
    ...await Promise.all(STORE_COLLECTIONS.map(async (name) => (await target.list(name)).length)),
    ...await Promise.all((await chainsOf(target)).map(async (chain) => (await chain.auditSpan()).last)),
    (await target.changes?.list({}) ?? []).length,
  ]
  if (found.some((count) => count > 0)) throw refused('The new store is not empty, and nothing was copied. Name an empty one.')
}

/** Those with records. That of a store with a single audit gets the name that its host has in a shared store. */
async function chainsOf(store: Store): Promise<readonly AuditChain[]> {
  const own: AuditChain = {
    name: hostname(), records: (from, limit) => store.records(from, limit), auditSpan: () => store.auditSpan(),
    archive: (last, link, by) => store.archive!(last, link, by),
  }
  const chains = await store.chains?.() ?? [own]
  const spans = await Promise.all(chains.map((chain) => chain.auditSpan()))
  return chains.filter((_, index) => spans[index]!.last > 0)
}

async function requireIntact(chain: AuditChain, where: string): Promise<void> {
  const verdict = await verifyAudit(chain)
  if (!verdict.ok) {
    throw refused(`The audit of ${chain.name} is broken in ${where}, at record ${verdict.position}: ${verdict.reason}.`)
  }
}

async function copyRecords(source: Store, target: Store, tell: Tell): Promise<number> {
  let count = 0
  for (const collection of STORE_COLLECTIONS) {
    // It ends with the inspector that ordered it.
    if (collection === 'capture') continue
    const found = await source.list(collection)
    const damaged = found.find(({ damage }) => damage !== undefined)
    if (damaged) throw refused(`The record ${collection} "${damaged.key}" is damaged: it ${damaged.damage!}. Remove it first.`)
    for (const { key, value } of found) await target.write(collection, key, value)
    count += found.length
    if (found.length > 0) tell(`${found.length} records of ${collection}`)
  }
  return count
}

/** Their ids change, also where one names another. */
async function copyChanges({ changes: source }: Store, { changes: target }: Store): Promise<number> {
  const found = await source?.list({}) ?? []
  const ids = new Map<number, number>()
  for (const change of found) {
    const digest = digestOf(change)
    const content = digest === undefined ? undefined : await source!.content(digest)
    ids.set(change.id, await target!.add(withIds(change, ids), content, change.at))
  }
  return found.length
}

function withIds({ id: _id, at: _at, ...change }: RecordedChange, ids: ReadonlyMap<number, number>): NewChange {
  const named = (id: number): number => ids.get(id) ?? 0
  const copied = change.undoes ? { ...change, undoes: change.undoes.map(named) } : change
  return (copied.kind === 'recorded' ? { ...copied, command: named(copied.command) } : copied) as NewChange
}

function digestOf(change: RecordedChange): string | undefined {
  if (change.kind === 'effect') return change.digest
  return change.kind === 'file' && change.before.kind === 'file' ? change.before.digest ?? undefined : undefined
}

async function copyAudit(chain: AuditChain, target: Store, tell: Tell): Promise<number> {
  const { first, before, last } = await chain.auditSpan()
  for (let from = first; from <= last;) {
    const page = wholeRows(await chain.records(from, PAGE), from + PAGE > last)
    // A group that is longer than a page.
    const rows = page.length > 0 ? page : wholeRows(await chain.records(from), true)
    await target.adopt!(chain.name, { position: first - 1, link: before }, rows)
    from = rows.at(-1)!.last + 1
    tell(`audit of ${chain.name}: ${from - first} of ${last - first + 1} records`)
  }
  const copied = (await chainsOf(target)).find(({ name }) => !target.chains || name === chain.name)
  await requireIntact(copied!, 'the new store')
  const [source, copy] = await Promise.all([chain.auditSpan(), copied!.auditSpan()])
  if (source.link !== copy.link) throw refused(`The audit of ${chain.name} changed while it was copied. Stop its host.`)
  return last - first + 1
}

/** Records that were written together share a link, and are stored as one row again. */
function wholeRows(entries: readonly AuditEntry[], isEnd: boolean): readonly (AdoptedRecords & { readonly last: number })[] {
  const rows: (AdoptedRecords & { readonly last: number })[] = []
  let open: AuditEntry[] = []
  for (const entry of entries) {
    open.push(entry)
    if (entry.link === null) continue
    const record = entry.text ?? open.map((one) => canonicalJson(one.record)).join('\n')
    rows.push({ position: open[0]!.position, count: open.length, record, link: entry.link, last: entry.position })
    open = []
  }
  if (open.length > 0 && isEnd) throw refused(`Record ${open[0]!.position} of the audit has no link.`)
  return rows
}
