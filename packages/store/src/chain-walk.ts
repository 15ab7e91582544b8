import { isDeepStrictEqual } from 'node:util'
import { BulkheadError, type AuditEntry } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { linkOf, RECORD_SEPARATOR } from './records/audit-chain.ts'
import { readGroup } from './records/audit-group.ts'

/** `position`: the first record that does not continue the chain. */
export interface BrokenChain {
  readonly ok: false
  readonly position: number
  readonly reason: string
}

export const broken = (position: number, reason: string): BrokenChain => ({ ok: false, position, reason })

/** Follows the chain record by record. Records that were written together share a link. */
export class ChainWalk {
  /** The position of the next record. */
  position: number
  link: string
  #records: Json[] = []

  constructor(position: number, link: string) {
    this.position = position
    this.link = link
  }

  /** Whether the link of the last records has not been read yet. */
  get isOpen(): boolean {
    return this.#records.length > 0
  }

  step({ position, record, link, text }: AuditEntry): BrokenChain | undefined {
    if (position !== this.position) {
      return broken(this.position, `record ${this.position} is missing; the next one is ${position}`)
    }
    this.#records.push(record)
    this.position++
    if (link === null) return undefined
    const records = this.#records
    const first = this.position - records.length
    this.#records = []
    this.link = linkOf(this.link, first, text ?? records.map(canonicalJson).join(RECORD_SEPARATOR))
    if (this.link !== link) {
      const which = records.length === 1 ? 'the record' : `one of ${records.length} records that were written together`
      return broken(first, `${which}, or an earlier one, was changed`)
    }
    const changed = text === undefined ? undefined : firstChangedRecord(records, text, first)
    return changed === undefined ? undefined : broken(changed, 'the record was changed')
  }
}

/** The position of the first record that differs from the stored text. */
function firstChangedRecord(records: readonly Json[], text: string, first: number): number | undefined {
  const stored = readGroup(text, first)
  const isUnchanged = (index: number): boolean => {
    try {
      return index < stored.size && isDeepStrictEqual(records[index], stored.recordAt(index))
    } catch (error) {
      if (!isDamage(error)) throw error
      return false
    }
  }
  for (let index = 0; index < Math.max(records.length, stored.size); index++) {
    if (!isUnchanged(index)) return first + index
  }
  return undefined
}

export const isDamage = (error: unknown): boolean =>
  BulkheadError.is(error) && (error.data as { readonly reason?: unknown } | undefined)?.reason === 'damaged-record'
