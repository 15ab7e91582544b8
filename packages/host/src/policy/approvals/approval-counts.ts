import type { Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { StoredApproval } from './approval.ts'
import type { KeptApproval } from './kept-approval.ts'

/** An approval that allows so many calls. */
type Limited = Pick<StoredApproval, 'id' | 'grantedAt' | 'maxUses'>

/**
 * The uses of approvals that allow a number of calls, counted once over all hosts of the store. They are no part of the
 * approval: each write of an approval changes the revision, so that calls under way would be decided again.
 */
export class ApprovalCounts {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Takes one use of each, or none. Resolves with those whose last use this was; undefined: one of them has none left. */
  async take(approvals: readonly KeptApproval[]): Promise<readonly KeptApproval[] | undefined> {
    const taken: KeptApproval[] = []
    for (const approval of approvals) {
      const { maxUses = Infinity } = approval.grant
      let before = 0
      const stored = await this.#store.update('budget', keyOf(approval.grant), (value) => {
        before = callsIn(value)
        return { calls: Math.min(before + 1, maxUses) }
      })
      approval.counted(callsIn(stored))
      if (before < maxUses) taken.push(approval)
      else return this.#giveBack(taken)
    }
    return taken.filter(({ isUsedUp }) => isUsedUp)
  }

  /** Reads how often they were used, in any host. */
  async refresh(approvals: readonly KeptApproval[]): Promise<void> {
    await Promise.all(approvals.filter(({ isLimited }) => isLimited).map(async (approval) => {
      approval.counted(callsIn(await this.#store.read('budget', keyOf(approval.grant))))
    }))
  }

  async withUses(stored: StoredApproval): Promise<StoredApproval> {
    return { ...stored, uses: callsIn(await this.#store.read('budget', keyOf(stored))) - 1 }
  }

  async forget(approval: Limited): Promise<void> {
    await this.#store.remove('budget', keyOf(approval))
  }

  async #giveBack(taken: readonly KeptApproval[]): Promise<undefined> {
    for (const approval of taken) {
      const stored = await this.#store.update('budget', keyOf(approval.grant), (value) => ({ calls: callsIn(value) - 1 }))
      approval.counted(callsIn(stored))
    }
    return undefined
  }
}

/** Under the time it was given: one that is given again counts from the beginning. */
const keyOf = ({ id, grantedAt }: Limited): string => `approval/${id}/${grantedAt}`

/** With the call that the approval was given to. */
function callsIn(value: Json | undefined): number {
  const calls = isJsonObject(value) ? value['calls'] : undefined
  // What cannot be read allows nothing more.
  if (value !== undefined && (typeof calls !== 'number' || !Number.isSafeInteger(calls) || calls < 1)) return Infinity
  return typeof calls === 'number' ? calls : 1
}
