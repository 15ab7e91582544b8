import type { Mutant } from '../mutant.ts'

const LOST = 'packages/bulkhead/test/workers/lost.test.ts'
const CALLS = 'packages/bulkhead/test/workers/calls.test.ts'
const REFUSED = 'packages/bulkhead/test/workers/refused.test.ts'
const MESSAGES = 'packages/workers/test/messages.test.ts'

/** What callers and workers promise each other. */
export const WORKERS: readonly Mutant[] = [
  {
    what: 'a call that has begun an effect does not run again on another worker',
    file: 'packages/workers/src/caller/remote-call.ts',
    from: 'if (begun !== undefined && !isRepeatable) {',
    to: 'if (begun !== undefined && isRepeatable) {',
    test: LOST,
  },
  {
    what: 'a call whose caller has confirmed no note has begun nothing',
    file: 'packages/workers/src/caller/remote-call.ts',
    from: 'this.#attempt!.mayAct ?',
    to: 'true ?',
    test: LOST,
  },
  {
    what: 'a message that could not be sent is sent again',
    file: 'packages/workers/src/messages/signed-messages.ts',
    from: "if (!BulkheadError.is(thrown) || thrown.code !== 'StoreUnavailable') return",
    to: 'return',
    test: MESSAGES,
  },
  {
    what: 'a message that arrives twice counts once',
    file: 'packages/workers/src/messages/signed-messages.ts',
    from: 'if (count as number <= this.#count) return []',
    to: '',
    test: MESSAGES,
  },
  {
    what: 'a call that a rule sends to a worker does not run here',
    file: 'packages/workers/src/caller/remote-session.ts',
    from: 'invocation.runsOn ?? remote.runsOn',
    to: 'remote.runsOn',
    test: CALLS,
  },
  {
    what: 'a rule of a project sends no call to another machine',
    file: 'packages/host/src/model/settings.ts',
    from: "runsOn !== undefined && author !== 'project'",
    to: 'runsOn !== undefined',
    test: CALLS,
  },
  {
    what: 'a ticket cannot grant more than the tool declares',
    file: 'packages/workers/src/worker/worker-call.ts',
    from: 'if (more.length === 0) return tool',
    to: 'return tool',
    test: REFUSED,
  },
  {
    what: 'a ticket with a member that the worker does not know is refused',
    file: 'packages/workers/src/ticket/ticket.ts',
    from: 'if (unknown === undefined) return',
    to: 'return',
    test: 'packages/workers/test/tickets.test.ts',
  },
  {
    what: 'a request of a newer worker is refused, and does not end the call',
    file: 'packages/workers/src/messages/protocol.ts',
    from: "  if (Number.isSafeInteger(id)) return {",
    to: "  if (Number.isSafeInteger(id) && method !== 'newer') return {",
    test: MESSAGES,
  },
]
