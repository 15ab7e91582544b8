import { CALL_LIMITS, type ToolInvocation } from '@bulkhead/contract'
import { FairQueue } from '@bulkhead/kit/fair-queue'

/** A call that has a slot, or waits for one. */
export interface QueuedCall<Call> {
  readonly invocation: Pick<ToolInvocation, 'sessionId' | 'parent' | 'confinement'> | undefined
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
 * time, so a nested call never waits for its own ancestor. Calls with different confinements never run at once: when it
 * is the turn of one that differs, no other call starts until all that run have ended.
 */
export class CallQueue<Call extends QueuedCall<Call>> {
  readonly #most: number
  readonly #admit: (call: Call) => void
  readonly #isMixed: boolean
  /** Searched only for a nested call that finds no free slot. */
  readonly #running: Call[] = []
  readonly #waiting: FairQueue<string | undefined, Call>
  #taken = 0
  /** Of the calls that run. */
  #confinement: string | undefined

  /** `admit`: called for a waiting call that gets a slot. `isMixed`: different confinements may run at once. */
  constructor(most: number, admit: (call: Call) => void, isMixed = false) {
    this.#most = most
    this.#admit = admit
    this.#isMixed = isMixed
    this.#waiting = new FairQueue(most * CALL_LIMITS.waitingPerSlot)
  }

  enter(call: Call): 'running' | 'waiting' | 'full' {
    if (this.#taken < this.#most && this.#waiting.isEmpty && this.#fits(call)) {
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
    if (call.at < 0) {
      this.#waiting.remove(call.invocation?.sessionId, call)
      // Others may have waited for its turn.
      return this.#admitWaiting()
    }
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
      this.#admitWaiting()
    }
  }

  /** Removes and returns all waiting calls. */
  takeWaiting(): readonly Call[] {
    return this.#waiting.takeAll()
  }

  #fits({ invocation }: Call): boolean {
    return this.#isMixed || this.#running.length === 0 || invocation?.confinement === this.#confinement
  }

  #start(call: Call, lender: Call | undefined): void {
    if (this.#running.length === 0) this.#confinement = call.invocation?.confinement
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

  /** While calls run, one that does not fit keeps its turn. Once none runs, all that fit the first one start with it. */
  #admitWaiting(): void {
    const passes = this.#running.length === 0
    while (this.#taken < this.#most) {
      const call = this.#waiting.next((one) => this.#fits(one), passes)
      if (call === undefined) return
      this.#start(call, undefined)
      this.#admit(call)
    }
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
