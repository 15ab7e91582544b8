import type { Mutant } from '../../mutant.ts'

const RESUME = 'packages/bulkhead/test/replicas/resume-session.test.ts'
const BUDGET = 'packages/bulkhead/test/replicas/shared-budget.test.ts'
const PAUSED = 'packages/bulkhead/test/replicas/paused-elsewhere.test.ts'
const RECORDS = 'packages/host/src/records/session-records.ts'

export const HOST_REPLICA_PROMISES: readonly Mutant[] = [
  {
    what: 'A session that a live host has open is not resumed', file: RECORDS,
    from: '!(isFree && record.owner === before.owner)', to: 'id === \'\'', test: RESUME,
  },
  {
    what: 'A session is resumed for its principal only', file: RECORDS,
    from: 'record.principal !== principal || ', to: '', test: RESUME,
  },
  {
    what: 'KEPT_MS: how long a session can be resumed', file: RECORDS,
    from: '|| now() - record.savedAt > keptMs) throw',
    to: ') throw', test: 'packages/host/test/records/session-records.test.ts',
  },
  {
    what: 'IDS_PER_RECORD: ids of calls in one record', file: RECORDS,
    from: 'ids.slice(from, from + IDS_PER_RECORD - number % IDS_PER_RECORD)', to: 'ids.slice(from)',
    test: 'packages/host/test/records/session-records.test.ts',
  },
  {
    what: 'A session is not resumed without the code that can deny its calls',
    file: 'packages/host/src/sessions/resumption.ts', from: 'if (missing.length > 0) {',
    to: 'if (missing.length > 99) {',
    test: 'packages/host/test/sessions/resumption.test.ts',
  },
  {
    what: 'A revocation is stored before it resolves', file: 'packages/host/src/policy/approvals/approval-book.ts',
    from: 'if (ofSessions.length > 0) await Promise.all(sessions.map((session) => session.settled()))',
    to: '', test: RESUME,
  },
  {
    what: 'A call with a limit runs when the store has counted it', file: 'packages/host/src/calls/pipeline.ts',
    from: 'if (confirmed) await untilAborted(confirmed, call.signal)', to: '', test: BUDGET,
  },
  {
    what: 'The count of a principal stays while one of its sessions is open',
    file: 'packages/host/src/records/shared-budget.ts', from: '!ended.includes(sessionId)',
    to: 'ended.includes(sessionId)',
    test: BUDGET,
  },
  {
    what: 'A late answer to a paused call gets its error', file: 'packages/host/src/policy/interaction/paused-calls.ts',
    from: 'if (endOf(stored) !== undefined && principalIn(stored) === principal) throw alreadyAnswered(id)',
    to: '', test: PAUSED,
  },
  {
    what: 'An approval that waited counts for what the person saw', file: 'packages/host/src/calls/paused-approval.ts',
    from: 'comparable(question as CallQuestion) === now)', to: 'comparable(question as CallQuestion) !== \'\')',
    test: 'packages/host/test/policy/interaction/paused-approvals.test.ts',
  },
  {
    what: 'outcomeHours: how long it is known that a question was answered',
    file: 'packages/host/src/policy/interaction/paused-calls.ts', from: 'this.#now() - end > outcomeMs',
    to: 'end === 0',
    test: 'packages/host/test/policy/interaction/paused-call-records.test.ts',
  },
  {
    what: 'clientDays: how long a client of an ended replica can continue',
    file: 'packages/bulkhead/src/facade/replica-records.ts', from: 'Date.now() - at > keptMs', to: 'at < 0',
    test: 'packages/bulkhead/test/replica-records.test.ts',
  },
]
