import type { AuditEntry } from '@bulkhead/contract'
import { broken, ChainWalk, isDamage, type BrokenChain } from './chain-walk.ts'
import { documentsArchive } from './records/audit-group.ts'
import { findDamage, hasRecordBeyondEnd, type AuditSource } from './verify-audit.ts'

/** How far an audit was verified. */
export interface AuditProgress {
  /** The first and the last record that were verified. `last` is `first - 1` if none was. */
  readonly first: number
  readonly last: number
  /** When the first and the last of them were. Milliseconds since 1970. */
  readonly since: number
  readonly at: number
  /** Whether the end of the audit was reached since. */
  readonly isComplete: boolean
  readonly broken?: Pick<BrokenChain, 'position' | 'reason'>
}

const PAGE = 500
/** Records that were verified may have been changed since. */
const AGAIN_MS = 60 * 60_000

/** Verifies an audit that is still written, part by part, and from its start again after an hour. */
export class AuditCheck {
  readonly #source: AuditSource
  readonly #now: () => number
  #walk: ChainWalk | undefined
  #start = { position: 0, link: '' }
  #hasStartRecord = true
  #since = 0
  #at = 0
  #isComplete = false
  #broken: BrokenChain | undefined

  constructor(source: AuditSource, now: () => number = Date.now) {
    this.#source = source
    this.#now = now
  }

  get progress(): AuditProgress | undefined {
    if (this.#walk === undefined) return undefined
    return {
      first: this.#start.position + 1, last: this.#walk.position - 1, since: this.#since, at: this.#at,
      isComplete: this.#isComplete,
      ...(this.#broken && { broken: { position: this.#broken.position, reason: this.#broken.reason } }),
    }
  }

  /** Verifies about so many more records. Rejects only if the source cannot be read at all. */
  async step(most: number): Promise<void> {
    const span = await this.#source.auditSpan()
    const isOver = this.#isComplete || this.#broken !== undefined
    const isOld = isOver && this.#now() - this.#since > AGAIN_MS
    if (this.#walk === undefined || isOld || span.first > this.#walk.position) this.#begin(span)
    else if (this.#broken) return
    const walk = this.#walk!
    if (span.last < walk.position - 1) {
      return this.#end(broken(span.last + 1, `the last ${walk.position - 1 - span.last} records are missing`))
    }
    for (let left = most; walk.position <= span.last && (left > 0 || walk.isOpen); left -= PAGE) {
      const fault = await this.#readPage(walk, Math.min(PAGE, span.last - walk.position + 1))
      if (fault === 'moved') return
      if (fault) return this.#end(fault)
    }
    this.#at = this.#now()
    if (walk.position <= span.last) return
    this.#isComplete = true
    const isOther = walk.isOpen || walk.link !== span.link || await hasRecordBeyondEnd(this.#source, walk.position)
    if (isOther) this.#end(broken(walk.position, 'the end differs from the stored one'))
    else if (!this.#hasStartRecord) {
      this.#end(broken(this.#start.position, 'it and the records before it are missing, and no record documents an archive'))
    }
  }

  #begin({ first, before }: { readonly first: number; readonly before: string }): void {
    this.#walk = new ChainWalk(Math.max(first, 1), before)
    this.#start = { position: this.#walk.position - 1, link: before }
    this.#hasStartRecord = this.#start.position === 0 || this.#source.forgets === true
    this.#since = this.#at = this.#now()
    this.#isComplete = false
    this.#broken = undefined
  }

  #end(fault: BrokenChain): void {
    this.#at = this.#now()
    this.#broken = fault
  }

  /** `moved`: the records were archived meanwhile. */
  async #readPage(walk: ChainWalk, wanted: number): Promise<BrokenChain | 'moved' | undefined> {
    const from = walk.position
    let page: readonly AuditEntry[]
    try {
      page = await this.#source.records(from, wanted)
    } catch (error) {
      if (!isDamage(error)) throw error
      return findDamage(this.#source, walk)
    }
    if (page.length < wanted && (await this.#source.auditSpan()).first > from) return 'moved'
    for (const entry of page) {
      const fault = walk.step(entry)
      if (fault) return fault
      this.#hasStartRecord ||= documentsArchive(entry.record, this.#start)
    }
    return page.length < wanted ? broken(walk.position, 'the record is missing') : undefined
  }
}
