import type { Clock, Store } from '@bulkhead/contract'
import { KEPT } from '../../records/audit-record.ts'
import { AuditTrail } from '../../records/audit-trail.ts'
import { createRedaction } from '../../records/redaction.ts'
import { EventBus } from '../../records/events.ts'
import { systemClock } from '../../model/system-clock.ts'
import { createApprovalBook, type ApprovalBook } from './approval-book.ts'
import { ApprovalLedger } from './approval-ledger.ts'

/**
 * The approvals of a store, without a host: for whoever looks after them while hosts run, or while none does. What is revoked
 * here is in the audit when `revoke` has resolved. Without a folder in the filter, those of every project.
 */
export function openApprovals(store: Store, clock: Clock = systemClock): ApprovalBook {
  const events = new EventBus(clock)
  const redaction = createRedaction([])
  const audit = new AuditTrail({ store, redaction: () => redaction, keepArguments: false, failed: () => undefined })
  events.on(audit.hear, KEPT)
  const now = () => clock.now()
  const book = createApprovalBook({
    ledger: new ApprovalLedger({ store, events, now }), now, open: () => ({ workspace: undefined, projects: [], sessions: [] }),
  })
  return {
    list: book.list,
    damaged: book.damaged,
    async revoke(which, by) {
      const revoked = await book.revoke(which, by)
      await audit.flush()
      return revoked
    },
  }
}
