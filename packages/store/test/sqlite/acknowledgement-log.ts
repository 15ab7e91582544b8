import { createHash } from 'node:crypto'
import type { Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { verifyAudit } from '../../src/index.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A record with a checksum. Some records take several pages. */
export function makeRecord(writer: string, n: number) {
  const filler = String(n).repeat(Math.floor(Math.random() * (n % 20 === 0 ? 4_000 : 100)))
  return { writer, n, filler, digest: digest(`${writer} ${n} ${filler}`) }
}

function openRecord(record: Json | undefined): { readonly writer: string; readonly n: number } {
  if (!isJsonObject(record)) throw new Error('a record is missing')
  const { writer, n, filler, digest: claimed } = record
  const name = `${String(writer)} ${String(n)}`
  if (claimed !== digest(`${name} ${String(filler)}`)) throw new Error(`record ${name} is damaged`)
  return { writer: String(writer), n: Number(n) }
}

/** The positions of the records by writer. Throws for a gap, and for a damaged or duplicate record. */
async function readAudit(store: Store): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const audit = new Map<string, Map<number, number>>()
  for (const [index, { position, record }] of (await store.records()).entries()) {
    if (position !== index + 1) throw new Error(`position ${index + 1} is missing`)
    const { writer, n } = openRecord(record)
    const positions = audit.getOrInsertComputed(writer, () => new Map<number, number>())
    if (positions.has(n)) throw new Error(`record ${n} of ${writer} is there twice`)
    positions.set(n, position)
  }
  return audit
}

/** Throws unless all acknowledged records are stored at their positions, intact and once. */
export async function confirm(store: Store, logs: readonly AcknowledgementLog[]): Promise<void> {
  const chain = await verifyAudit(store)
  if (!chain.ok) throw new Error(`the chain breaks at ${chain.position}: ${chain.reason}`)
  const audit = await readAudit(store)
  for (const log of logs) await log.confirm(store, audit.get(log.writer) ?? new Map<number, number>())
}

/** The acknowledgements of a writer, read from its output line by line. */
export class AcknowledgementLog {
  readonly writer: string
  readonly #positions = new Map<number, number>()
  readonly #slots = new Map<string, number>()
  #rest = ''
  #lines = 0

  constructor(writer: string) {
    this.writer = writer
  }

  get acknowledged(): number {
    return this.#positions.size
  }

  /** Returns the number of complete lines so far. */
  add(chunk: string): number {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#note(line.split(' '))
    this.#lines += lines.length
    return this.#lines
  }

  async confirm(store: Store, found: ReadonlyMap<number, number>): Promise<void> {
    for (const [position, n] of this.#positions) {
      const at = found.get(n)
      if (at === position) continue
      throw new Error(`record ${n} of ${this.writer} was acknowledged at ${position} and is at ${at ?? 'none'}`)
    }
    for (const [slot, n] of this.#slots) {
      const kept = openRecord(await store.read('state', `${this.writer}/${slot}`))
      if (kept.n < n) throw new Error(`${slot} of ${this.writer} holds ${kept.n}, and ${n} was acknowledged`)
    }
  }

  #note([what, where = '', n]: readonly string[]): void {
    if (what === 'appended') this.#positions.set(Number(where), Number(n))
    if (what === 'wrote') this.#slots.set(where, Math.max(Number(n), this.#slots.get(where) ?? 0))
  }
}
