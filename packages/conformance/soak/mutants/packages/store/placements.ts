import type { Mutant } from '../../mutant.ts'

const FOLDER = 'packages/store-postgres/src/placements'
const TESTS = 'packages/store-postgres/test/placements'
const LIMITS = 'packages/contract/src/model/limits.ts'
const FENCE = `${TESTS}/fence.test.ts`

/** Calls on workers, as the store has them. */
export const STORE_PLACEMENTS: readonly Mutant[] = [
  {
    what: 'a first effect needs a lease by the clock of the database',
    file: `${FOLDER}/worker-statements.ts`,
    from: 'WHERE ${OF_WORKER} AND placed.ended IS NULL AND ${HAS_LEASE} RETURNING ${DURABLE}',
    to: 'WHERE ${OF_WORKER} AND placed.ended IS NULL RETURNING ${DURABLE}',
    test: FENCE,
  },
  {
    what: 'an effect waits for a store that does not answer, as long as the lease is held',
    file: `${FOLDER}/leased-call.ts`,
    from: 'if (database.closed) throw error',
    to: 'throw error',
    test: `${TESTS}/leases.test.ts`,
  },
  {
    what: 'a call that could not be placed is not taken by a statement that comes late',
    file: `${FOLDER}/caller.ts`,
    from: 'if (!await this.#isPlaced(values) && performance.now() < until) continue',
    to: '',
    test: FENCE,
  },
  {
    what: 'a later effect needs a lease by the clock of the database',
    file: `${FOLDER}/worker-statements.ts`,
    from: 'placed.begun IS NOT NULL AND placed.ended IS NULL AND ${HAS_LEASE}',
    to: 'placed.begun IS NOT NULL AND placed.ended IS NULL',
    test: FENCE,
  },
  {
    what: 'no effect is noted in an epoch that has ended',
    file: `${FOLDER}/worker-statements.ts`,
    from: 'WHERE ${OF_WORKER} AND placed.ended IS NULL AND ${HAS_LEASE} RETURNING ${DURABLE}',
    to: 'WHERE ${OF_WORKER} AND ${HAS_LEASE} RETURNING ${DURABLE}',
    test: FENCE,
  },
  {
    what: 'the next epoch is opened only if no effect is noted',
    file: `${FOLDER}/caller-statements.ts`,
    from: '\n      AND (placed.begun IS NULL OR $4::boolean)',
    to: ' AND $4::boolean IS NOT NULL',
    test: FENCE,
  },
  {
    what: 'a ticket is redeemed once',
    file: `${FOLDER}/worker-statements.ts`,
    from: 'AND placed.worker IS NULL AND placed.ended IS NULL AND placed.deadline > clock_timestamp()\n    RETURNING',
    to: 'AND placed.ended IS NULL AND placed.deadline > clock_timestamp()\n    RETURNING',
    test: FENCE,
  },
  {
    what: 'a call that is over is not placed again by a statement that arrives late',
    file: 'packages/store-postgres/src/migrations/workers.ts',
    from: "SELECT md5(new.id || ' ' || new.epoch)::uuid, known.name",
    to: 'SELECT gen_random_uuid(), known.name',
    test: FENCE,
  },
  {
    what: 'a job is settled as it was fetched',
    file: `${FOLDER}/jobs.ts`,
    from: 'await this.#boss.complete(queue, own)',
    to: 'await this.#boss.complete(queue, own.map(({ id }) => id))',
    test: FENCE,
  },
  {
    what: 'a result counts only in an open epoch',
    file: `${FOLDER}/worker-statements.ts`,
    from: 'WHERE ${OF_WORKER} AND placed.ended IS NULL RETURNING placed.caller',
    to: "WHERE placed.id = $1 AND $2::int + $4::bigint > 0 AND $3 <> '' RETURNING placed.caller",
    test: FENCE,
  },
  {
    what: 'resultBytes: size of a result from a worker',
    file: LIMITS,
    from: 'resultBytes: 64 * MB',
    to: 'resultBytes: 65 * MB',
    test: `${TESTS}/calls.test.ts`,
  },
  {
    what: 'partBytes: size of a result that is not sent in parts',
    file: LIMITS,
    from: 'partBytes: MB',
    to: 'partBytes: MB / 2',
    test: `${TESTS}/calls.test.ts`,
  },
  {
    what: 'MESSAGE_BYTES: size of a message between a caller and a worker',
    file: `${FOLDER}/outbox.ts`,
    from: 'MESSAGE_BYTES = 1024 ** 2',
    to: 'MESSAGE_BYTES = 4 * 1024 ** 2',
    test: `${TESTS}/calls.test.ts`,
  },
  {
    what: 'a next epoch whose answer was lost is not opened twice, and known',
    file: `${FOLDER}/caller-statements.ts`,
    from: 'placed.epoch = $2 + 1 AND placed.ticket = $3) AS placed',
    to: 'placed.epoch = $2 - 1 AND placed.ticket = $3) AS placed',
    test: `${TESTS}/lost-answers.test.ts`,
  },
  {
    what: 'a result whose answer was lost counts',
    file: `${FOLDER}/worker-statements.ts`,
    from: "WHERE ${OF_WORKER} AND placed.ended = 'settled') AS counted",
    to: "WHERE ${OF_WORKER} AND placed.ended = 'lost') AS counted",
    test: `${TESTS}/lost-answers.test.ts`,
  },
  {
    what: 'tenants take turns on a worker',
    file: `${FOLDER}/worker-seat.ts`,
    from: 'this.#hasTenants = Number(row![\'tenants\']) > 1',
    to: 'this.#hasTenants = false',
    test: `${TESTS}/queue.test.ts`,
  },
  {
    what: 'what a call began is kept for a month',
    file: `${FOLDER}/sweep.ts`,
    from: "WHEN placed.begun IS NULL AND placed.begun_before = '{}' THEN",
    to: 'WHEN true THEN',
    test: `${TESTS}/queue.test.ts`,
  },
  {
    what: 'a worker that is silent for long is removed',
    file: `${FOLDER}/sweep.ts`,
    from: "interval '1 hour'",
    to: "interval '1 year'",
    test: `${TESTS}/queue.test.ts`,
  },
  {
    what: 'renewals: a worker renews its lease while it lasts',
    file: LIMITS,
    from: 'renewals: 5',
    to: 'renewals: 0.4',
    test: `${TESTS}/leases.test.ts`,
  },
  {
    what: 'messageBytes: size of a request between a caller and a worker',
    file: LIMITS,
    from: 'messageBytes: 400 * 1024',
    to: 'messageBytes: 4 * MB',
    test: 'packages/workers/test/messages.test.ts',
  },
  {
    what: 'skewMs: by how much the clocks of a caller and a worker may differ',
    file: LIMITS,
    from: 'skewMs: 300_000',
    to: 'skewMs: 3_000_000',
    test: 'packages/workers/test/tickets.test.ts',
  },
]
