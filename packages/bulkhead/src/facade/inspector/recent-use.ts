import { readRows, type AuditChainReader, type CallRow } from '@bulkhead/contract/audit'
import type { Host } from '../create-host.ts'

const SPAN_MS = 30 * 24 * 60 * 60_000
/** Calls that are read at most. */
const MOST_ROWS = 5_000
/** A reading of the audit counts for so long. */
const FRESH_MS = 10_000

/** The calls of the last 30 days, as the audit has them. */
export interface RecentUse {
  readonly rows: readonly CallRow[]
  /** Which calls these are, in words. */
  readonly words: string
}

/** When the last of them was made, if there is one. */
export function lastOf(rows: readonly CallRow[]): { readonly lastAt?: number } {
  const lastAt = rows.reduce((latest, { at }) => Math.max(latest, Date.parse(at)), 0)
  return lastAt > 0 ? { lastAt } : {}
}

/** Reads the audit at most once in ten seconds. */
export class RecentCalls {
  readonly #chains: () => Promise<readonly AuditChainReader[]>
  readonly #host: Pick<Host, 'flush'>
  #at = -Infinity
  #reading: Promise<RecentUse> | undefined

  constructor(host: Pick<Host, 'flush'>, chains: () => Promise<readonly AuditChainReader[]>) {
    this.#host = host
    this.#chains = chains
  }

  read(): Promise<RecentUse> {
    const now = performance.now()
    if (this.#reading === undefined || now - this.#at > FRESH_MS) {
      this.#at = now
      this.#reading = this.#read()
    }
    return this.#reading
  }

  async #read(): Promise<RecentUse> {
    const chains = await this.#chains()
    if (chains.length === 0) return { rows: [], words: 'nothing: without a store there is no audit' }
    // Records of the last moment are still being written.
    await this.#host.flush().catch(() => undefined)
    const since = new Date(Date.now() - SPAN_MS).toISOString()
    const rows = (await readRows(chains, { since, onlyCalls: true }, MOST_ROWS)).filter((row) => row.kind === 'call')
    return { rows, words: rows.length < MOST_ROWS ? 'the last 30 days' : `the last ${MOST_ROWS} calls` }
  }
}
