import { callKeyOf, callRowOf, placed, type AuditChainReader, type PlacedRecord } from '@bulkhead/contract/audit'
import type { CallItem } from '../../protocol.ts'
import type { Inspected } from '../inspected.ts'
import { itemOf } from './past-calls.ts'

const MOST_RECORDS = 500
/** Calls that are decided and have not ended. */
const MOST_OPEN = 5_000

/** New records of the audits of other hosts, as calls. It reads only while someone watches. */
export class StoreFollower {
  readonly #inspected: Pick<Inspected, 'chains'>
  readonly #isOwn: (id: string) => boolean
  readonly #read = new Map<string, number>()
  readonly #open = new Map<string, readonly PlacedRecord[]>()

  /** `isOwn`: whether this process knows the call itself. */
  constructor(inspected: Pick<Inspected, 'chains'>, isOwn: (id: string) => boolean) {
    this.#inspected = inspected
    this.#isOwn = isOwn
  }

  /** The calls that changed since the last reading. The first reading starts at the end. Rejects with StoreUnavailable. */
  async read(): Promise<readonly CallItem[]> {
    const found: CallItem[] = []
    for (const chain of await this.#inspected.chains()) found.push(...await this.#readChain(chain))
    return found
  }

  async #readChain(chain: AuditChainReader): Promise<readonly CallItem[]> {
    const { last } = await chain.auditSpan()
    const before = this.#read.get(chain.name) ?? last
    this.#read.set(chain.name, Math.min(last, before + MOST_RECORDS))
    if (last <= before) return []
    const records = placed(await chain.records(before + 1, MOST_RECORDS), chain.name)
    const changed = new Map<string, CallItem>()
    for (const record of records) {
      const key = callKeyOf(record.record)
      if (key === undefined) continue
      const all = [...this.#open.get(key) ?? [], record]
      this.#open.set(key, all)
      const row = callRowOf(all)
      if (row === undefined) continue
      const item = itemOf(row)
      if (item.ms !== undefined || item.code !== undefined) this.#open.delete(key)
      if (!this.#isOwn(item.id)) changed.set(item.id, item)
    }
    for (const key of this.#open.keys()) {
      if (this.#open.size <= MOST_OPEN) break
      this.#open.delete(key)
    }
    return [...changed.values()]
  }
}
