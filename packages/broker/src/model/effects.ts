import { BulkheadError, COMPARTMENT_LIMITS } from '@bulkhead/contract'

/** What the broker counts of one call. */
export type CallEffect = 'readBytes' | 'writtenBytes' | 'sentBytes' | 'nestedCalls'

/** Counts the effects of one call, each up to its limit. */
export class EffectCounter {
  readonly #limits: Readonly<Record<CallEffect, number>>
  readonly #counts = new Map<CallEffect, number>()

  constructor(limits: Readonly<Record<CallEffect, number>>) {
    this.#limits = limits
  }

  /** Call it before the effect. Contract: throws the error of the limit, and counts nothing, if the sum would exceed it. */
  add(effect: CallEffect, amount: number): void {
    const sum = (this.#counts.get(effect) ?? 0) + amount
    const most = this.#limits[effect]
    if (sum > most) {
      const message = `${effect} would exceed its limit of ${most}. Do less, or raise the limit.`
      throw new BulkheadError(COMPARTMENT_LIMITS[effect].error, message, { data: { limit: effect } })
    }
    this.#counts.set(effect, sum)
  }
}
