import { BulkheadError } from './model/bulkhead-error.ts'
import type { ErrorCode } from './model/errors.ts'

const ERRORS_OF = {
  readBytes: 'TooManyBytesRead', writtenBytes: 'TooManyBytesWritten', sentBytes: 'TooManyBytesSent', savedBytes: 'TooManyBytesSaved',
  sessionSavedBytes: 'TooManyBytesSaved', nestedCalls: 'TooManyNestedCalls',
} as const satisfies Record<string, ErrorCode>

type Effect = keyof typeof ERRORS_OF

/** What the broker counts of one call. */
export type CallEffect = 'readBytes' | 'writtenBytes' | 'sentBytes' | 'nestedCalls'

/** Counts what one call, or one session, does outside its compartment, each kind up to a limit. */
export class EffectsLedger<Counted extends Effect> {
  readonly #limits: Readonly<Record<Counted, number>>
  readonly #counts = new Map<Counted, number>()

  constructor(limits: Readonly<Record<Counted, number>>) {
    this.#limits = limits
  }

  /** Contract: throws the error of the limit and counts nothing when the sum would be above it. To be called before the effect. */
  add(effect: Counted, amount: number): void {
    const sum = (this.#counts.get(effect) ?? 0) + amount
    const most = this.#limits[effect]
    if (sum > most) {
      const message = `${effect} would exceed its limit of ${most}. Do less, or raise the limit.`
      throw new BulkheadError(ERRORS_OF[effect], message, { data: { limit: effect } })
    }
    this.#counts.set(effect, sum)
  }
}
