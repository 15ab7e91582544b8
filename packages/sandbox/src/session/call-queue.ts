import { CALL_LIMITS, type ToolInvocation } from '@bulkhead/contract'
import { FairQueue } from '@bulkhead/kit/fair-queue'

/** A call that has a slot, or waits for one. */
export interface QueuedCall<Call> {
  readonly invocation: Pick<ToolInvocation, 'sessionId' | 'parent'> | undefined
  /** Its index among the calls with a slot; -1 without one. */
  at: number
  /** The ancestor whose slot it uses. */
  lender: Call | undefined
  /** The nested call that uses its slot. */
  borrower: Call | undefined
}

/**
 * The call slots of one compartment, and the calls that wait for one. Sessions take turns; within a session, calls run
 * in order of arrival. A call that waits for a nested call in the same compartment lends its slot, to one call at a
 * time, so a nested call never waits for its own ancestor.
 */
export class CallQueue<Call extends QueuedCall<Call>> {
  readonly #most: number
  readonly #admit: (call: Call) => void
  /** Searched only for a nested call that finds no free slot. */
  readonly #running: Call[] = []
  readonly #waiting: FairQueue<string | undefined, Call>
  #taken = 0

  /** `admit` is called for a waiting call that gets a slot. */
  constructor(most: number, admit: (call: Call) => void) {
    this.#most = most
    this.#admit = admit
    this.#waiting = new FairQueue(most * CALL_LIMITS.waitingPerSlot)
  }

  enter(call: Call): 'running' | 'waiting' | 'full' {
    if (this.#taken < this.#most) {
      this.#start(call, undefined)
      return 'running'
    }
    const lender = this.#lenderOf(call)
    if (lender !== undefined) {
      this.#start(call, lender)
      return 'running'
    }
    return this.#waiting.add(call.invocation?.sessionId, call) ? 'waiting' : 'full'
  }

  /** For a call that has a slot or waits for one. */
  leave(call: Call): void {
    if (call.at < 0) return this.#waiting.remove(call.invocation?.sessionId, call)
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
      if (!this.#waiting.isEmpty) this.#admitNext()
    }
  }

  /** Removes and returns all waiting calls. */
  takeWaiting(): readonly Call[] {
    return this.#waiting.takeAll()
  }

  #start(call: Call, lender: Call | undefined): void {
    call.at = this.#running.push(call) - 1
    call.lender = lender
    if (lender === undefined) this.#taken++
    else lender.borrower = call
  }

  #remove(call: Call): void {
    const last = this.#running.pop()!
    if (last !== call) {
      this.#running[call.at] = last
      last.at = call.at
    }
    call.at = -1
  }

  #lenderOf({ invocation }: Call): Call | undefined {
    for (let ancestor = invocation?.parent; ancestor !== undefined; ancestor = ancestor.parent) {
      const running = this.#running.find((one) => one.invocation === ancestor)
      if (running !== undefined && running.borrower === undefined) return running
    }
    return undefined
  }

  #admitNext(): void {
    const call = this.#waiting.next()
    if (call === undefined) return
    this.#start(call, undefined)
    this.#admit(call)
  }

  /** The slot of `lender` can be lent again. */
  #admitNested(lender: Call): void {
    const call = this.#waiting.find((one) => isNestedIn(one, lender))
    if (call === undefined) return
    this.#waiting.remove(call.invocation?.sessionId, call)
    this.#start(call, lender)
    this.#admit(call)
  }
}

function isNestedIn<Call extends QueuedCall<Call>>({ invocation }: Call, lender: Call): boolean {
  for (let ancestor = invocation?.parent; ancestor !== undefined; ancestor = ancestor.parent) {
    if (ancestor === lender.invocation) return true
  }
  return false
}
