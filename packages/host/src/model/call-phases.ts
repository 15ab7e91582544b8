import { CALL_LIMITS, type CallPhase, type EndedUse, type MeasuredUse } from '@bulkhead/contract'

/** A shorter call has one phase that matters, and is so frequent that its record should stay short. */
const LEAST_MS = 5
const LEAST_PHASE_MS = 0.5
/** So much of a subject is kept that a secret is found across the place where its record cuts it. */
const MOST_CHARS = 5_000

interface Begun {
  readonly kind: CallPhase['kind']
  readonly from: number
  readonly before: Begun | undefined
}

/** What a call spent its time on, and what it used. Times are from a clock that never decreases. */
export class CallPhases {
  /** A list of links: lists that grow cost each call four times as much. */
  #last: Begun | undefined
  #uses: (Omit<EndedUse, 'fromMs'> & { readonly from: number })[] | undefined
  #moreUses = 0

  enter(kind: CallPhase['kind'], now: number): void {
    this.#last = { kind, from: now, before: this.#last }
  }

  used({ part, subject, ms, failed, readBytes, writtenBytes }: MeasuredUse, now: number): void {
    const uses = this.#uses ??= []
    if (uses.length >= CALL_LIMITS.listedUses) {
      this.#moreUses++
      return
    }
    uses.push({
      part, subject: subject.slice(0, MOST_CHARS), from: now - ms, ms: rounded(ms), ...(readBytes > 0 && { readBytes }),
      ...(writtenBytes > 0 && { writtenBytes }), ...(failed && { failed }),
    })
  }

  /** For the event of the end. `begun`, `ended`: of the call. */
  summary(begun: number, ended: number): {
    readonly phases?: readonly CallPhase[]
    readonly uses?: readonly EndedUse[]
    readonly moreUses?: number
  } {
    const more = this.#moreUses
    return {
      ...(ended - begun >= LEAST_MS && { phases: this.#phases(begun, ended) }),
      ...(this.#uses && {
        uses: this.#uses.map(({ from, part, subject, ...use }) => ({ part, subject, fromMs: rounded(Math.max(0, from - begun)), ...use })),
      }),
      ...(more > 0 && { moreUses: more }),
    }
  }

  #phases(begun: number, ended: number): readonly CallPhase[] {
    const found: CallPhase[] = []
    const add = ({ kind, from }: Omit<Begun, 'before'>, until: number): void => {
      if (until - from >= LEAST_PHASE_MS) found.push({ kind, fromMs: rounded(from - begun), ms: rounded(until - from) })
    }
    let until = ended
    for (let one = this.#last; one; one = one.before) {
      add(one, until)
      until = one.from
    }
    add({ kind: 'policy', from: begun }, until)
    return found.toReversed()
  }
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10
