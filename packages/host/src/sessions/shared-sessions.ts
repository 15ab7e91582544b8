import { BulkheadError, type Clock, type Store } from '@bulkhead/contract'
import type { ShareBudget } from '../model/budget.ts'
import type { EventBus } from '../records/events.ts'
import type { Claimant } from '../records/owner.ts'
import { cutAudits, type Retention } from '../records/retention.ts'
import { SessionRecords } from '../records/session-records.ts'
import { purgeBudgets, SharedBudget, type SharedBudgetSources } from '../records/shared-budget.ts'
import { KeptSession, type KeepRequest, type Resumed } from './kept-session.ts'
import { openedWith } from './resumption.ts'

export interface SharedSessionSources {
  readonly store: Store
  readonly workspace: string
  readonly owner: Claimant
  readonly clock: Clock
  readonly events: EventBus
  readonly retention: Retention
}

/** How often old records of the audit are looked for. */
const CUT_MS = 60 * 60 * 1000

/** What the hosts of a workspace share about sessions: those that can be resumed, and budgets. */
export class SharedSessions {
  readonly keep: (request: KeepRequest) => KeptSession
  readonly shareBudget: ShareBudget
  readonly #sources: SharedSessionSources
  readonly #records: SessionRecords
  #cutAt = -Infinity
  readonly #budgets: SharedBudgetSources

  constructor(sources: SharedSessionSources) {
    const { store, workspace, owner, clock, events, retention: { sessionMs } } = sources
    this.#sources = sources
    const records = this.#records = new SessionRecords({ store, workspace, owner, keptMs: sessionMs, now: () => clock.now() })
    this.#budgets = { store, workspace, owner, events, isKept: (id) => records.isKept(id) }
    this.keep = ({ options, ...request }) => new KeptSession({
      ...request, records, events,
      opened: request.before ? fixedOf(request.before) : openedWith(options, clock.now()),
    })
    this.shareBudget = (name, limits) => new SharedBudget(name, limits, this.#budgets)
  }

  /** As `claim` of SessionRecords. `use` opens the session; if it fails, another host may try. */
  async resume<Session>(id: string, principal: string | undefined, use: (resumed: Resumed) => Session): Promise<Session> {
    const record = await this.#records.claim(id, principal)
    try {
      return use({ record, ids: await this.#records.ids(id) })
    } catch (thrown) {
      await this.#records.release(id)
      throw thrown
    }
  }

  /** Removes what no host can continue, and what the audit has kept for long enough. Never rejects. */
  async purge(): Promise<void> {
    await Promise.all([this.#records.purge(() => purgeBudgets(this.#budgets)), this.#cutAudits()])
  }

  async #cutAudits(): Promise<void> {
    const { store, clock, events, retention: { auditMs } } = this.#sources
    const now = clock.now()
    if (auditMs === undefined || now - this.#cutAt < CUT_MS) return
    this.#cutAt = now
    await cutAudits(store, now - auditMs, 'store.retention.auditDays')
      .catch((thrown: unknown) => events.suppressed('retention of the audit', thrown))
  }
}

const fixedOf = ({ record: { principal, openedAt, options, code } }: Resumed) =>
  ({ ...(principal !== undefined && { principal }), openedAt, options, code })

export const nothingStored = (id: string): BulkheadError => new BulkheadError(
  'NotFound', `The session ${id} cannot be resumed: the store of this host ends with it.`, { data: { id } },
)
