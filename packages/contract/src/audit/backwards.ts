import type { AuditEntry, AuditSpan } from '../ports/store.ts'
import { placed, timeOf, type PlacedRecord } from './records.ts'

/** The audit of one host: in a store, or in an exported or archived file. */
export interface AuditChainReader {
  /** Of the host. '' if there is only one. */
  readonly name: string
  records(from?: number, limit?: number): Promise<readonly AuditEntry[]>
  auditSpan(): Promise<AuditSpan>
}

export interface AuditPage {
  readonly records: readonly PlacedRecord[]
  /** Everything since this time is read, in all chains. '' if nothing is left. */
  readonly readUntil: string
}

const PAGE = 500

/** The records of all chains, about from the latest to the first. Rejects with StoreUnavailable. */
export async function* pagesBackwards(chains: readonly AuditChainReader[]): AsyncGenerator<AuditPage> {
  let open = chains.map((chain) => ({ pages: pagesOf(chain), oldest: AFTER_ALL }))
  while (open.length > 0) {
    const latest = open.reduce((one, other) => other.oldest > one.oldest ? other : one)
    const { value: records } = await latest.pages.next()
    if (records) latest.oldest = timeOf(records[0]!.record)
    else open = open.filter((one) => one !== latest)
    const readUntil = open.reduce((time, { oldest }) => oldest > time ? oldest : time, '')
    yield { records: records ?? [], readUntil }
  }
}

/** Later than every time. */
const AFTER_ALL = '~'

/** Latest first. No page is empty. */
async function* pagesOf(chain: AuditChainReader): AsyncGenerator<readonly PlacedRecord[], undefined> {
  const { first, last } = await chain.auditSpan()
  let after: string | null = null
  for (let end = last; end >= Math.max(first, 1); end -= PAGE) {
    const from = Math.max(first, end - PAGE + 1, 1)
    const page: readonly PlacedRecord[] = placed(await chain.records(from, end - from + 1), chain.name, after)
    if (page.length === 0) continue
    after = page[0]!.link
    yield page
  }
  return undefined
}
