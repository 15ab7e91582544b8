import type { ToolInvocation } from '@bulkhead/contract'

/** A call that has a place, or waits for one. */
export interface PlacedCall<Call> {
  readonly invocation: Pick<ToolInvocation, 'sessionId' | 'parent'> | undefined
  /** Its index among the calls that have a place; -1 without one. */
  at: number
  /** The ancestor whose place it uses. */
  lender: Call | undefined
  /** The nested call that uses its place. */
  borrower: Call | undefined
}

/** How many calls of one session may wait, for each call that may run. */
export const WAITING_PER_PLACE = 16

/**
 * The places for calls in one compartment, and those that wait for one. Sessions take turns; within a session the order is that
 * of arrival. A call that waits for a nested call in the same compartment lends it its place, one at a time: a nested call never
 * waits for the end of its own ancestor.
 */
export class CallPlaces<Call extends PlacedCall<Call>> {
  readonly #most: number
  readonly #admit: (call: Call) => void
  /** An array: it is searched only for a nested call that finds no free place. */
  readonly #placed: Call[] = []
  /** Those that wait, by session. The session at the front has the next turn. */
  readonly #lines = new Map<string | undefined, Call[]>()
  #taken = 0

  /** `admit` is called for a call that has waited and has a place now. */
  constructor(most: number, admit: (call: Call) => void) {
    this.#most = most
    this.#admit = admit
  }

  enter(call: Call): 'placed' | 'waits' | 'full' {
    if (this.#taken < this.#most) {
      this.#place(call, undefined)
      return 'placed'
    }
    const lender = this.#lenderOf(call)
    if (lender !== undefined) {
      this.#place(call, lender)
      return 'placed'
    }
    const session = call.invocation?.sessionId
    const line = this.#lines.get(session)
    if (line === undefined) this.#lines.set(session, [call])
    else if (line.length >= this.#most * WAITING_PER_PLACE) return 'full'
    else line.push(call)
    return 'waits'
  }

  /** Of a call that has a place or waits for one. */
  leave(call: Call): void {
    if (call.at < 0) return this.#stopWaiting(call)
    this.#remove(call)
    const { lender, borrower } = call
    call.lender = undefined
    call.borrower = undefined
    if (borrower !== undefined) {
      borrower.lender = lender
      if (lender !== undefined) lender.borrower = borrower
    } else if (lender !== undefined) {
      lender.borrower = undefined
      this.#admitNested(lender)
    } else {
      this.#taken--
      this.#admitNext()
    }
  }

  /** All that wait, which wait no longer. */
  takeWaiting(): readonly Call[] {
    const waiting = [...this.#lines.values()].flat()
    this.#lines.clear()
    return waiting
  }

  #place(call: Call, lender: Call | undefined): void {
    call.at = this.#placed.push(call) - 1
    call.lender = lender
    if (lender === undefined) this.#taken++
    else lender.borrower = call
  }

  #remove(call: Call): void {
    const last = this.#placed.pop()!
    if (last !== call) {
      this.#placed[call.at] = last
      last.at = call.at
    }
    call.at = -1
  }

  #lenderOf({ invocation }: Call): Call | undefined {
    for (let ancestor = invocation?.parent; ancestor !== undefined; ancestor = ancestor.parent) {
      const placed = this.#placed.find((one) => one.invocation === ancestor)
      if (placed !== undefined && placed.borrower === undefined) return placed
    }
    return undefined
  }

  #admitNext(): void {
    const [turn] = this.#lines
    if (turn === undefined) return
    const [session, line] = turn
    const call = line.shift()!
    this.#lines.delete(session)
    if (line.length > 0) this.#lines.set(session, line)
    this.#place(call, undefined)
    this.#admit(call)
  }

  /** The place of `lender` can be lent again. */
  #admitNested(lender: Call): void {
    for (const line of this.#lines.values()) {
      const call = line.find((one) => isNestedIn(one, lender))
      if (call === undefined) continue
      this.#stopWaiting(call)
      this.#place(call, lender)
      return this.#admit(call)
    }
  }

  #stopWaiting(call: Call): void {
    const session = call.invocation?.sessionId
    const line = this.#lines.get(session)
    const index = line?.indexOf(call) ?? -1
    if (index < 0) return
    line!.splice(index, 1)
    if (line!.length === 0) this.#lines.delete(session)
  }
}

function isNestedIn<Call extends PlacedCall<Call>>({ invocation }: Call, lender: Call): boolean {
  for (let ancestor = invocation?.parent; ancestor !== undefined; ancestor = ancestor.parent) {
    if (ancestor === lender.invocation) return true
  }
  return false
}
