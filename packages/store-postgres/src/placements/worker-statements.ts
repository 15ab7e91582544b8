import { statement, type Statement } from '../connection/database.ts'
import { HELD, LISTS, SERVES, WAKE } from './caller-statements.ts'

/** Only for this transaction: what a crash of the server undoes, the next one does again. */
const RELAXED = "set_config('synchronous_commit', 'off', true)"
/** Only for this transaction: an effect is noted on the disk, whatever the server was set to. */
const DURABLE = `set_config('synchronous_commit',
  CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

/** A worker that comes back has a new term, and no call of the last one. */
export const JOIN = statement('worker_join', `
  WITH joined AS (
    INSERT INTO @.worker (id, info, labels, workspaces, major, capacity, channel, lease, lease_until)
    VALUES ($1, $2, $3::text[], $4::text[], $5, $6, $7, $8 * interval '1 ms',
      clock_timestamp() + $8 * interval '1 ms')
    ON CONFLICT (id) DO UPDATE SET term = worker.term + 1, channel = excluded.channel, lease = excluded.lease,
      lease_until = excluded.lease_until, draining = $9
    RETURNING term
  ), lost AS (
    UPDATE @.placed AS placed SET ended = 'lost' FROM joined
    WHERE placed.worker = $1 AND placed.term < joined.term AND placed.ended IS NULL RETURNING placed.caller
  )
  SELECT joined.term, ${WAKE('lost.caller', 'lost')} FROM joined`)

/** Renews the lease of all calls of a worker, and says what is new of them. */
export const BEAT = statement('worker_beat', `
  WITH beaten AS (
    UPDATE @.worker AS worker SET lease_until = clock_timestamp() + worker.lease
    WHERE worker.id = $1 AND worker.term = $2 AND ${HELD('worker')}
    RETURNING worker.labels, worker.workspaces, worker.major, ${RELAXED}
  ), known AS MATERIALIZED (
    SELECT * FROM ${LISTS('$3::text[]', '$4::int[]', '$5::int[]')} AS known (id, epoch, last)
  ), heard AS (
    DELETE FROM @.placed_message AS message USING known WHERE known.last > 0 AND message.placed = known.id
      AND message.epoch = known.epoch AND message.to_worker AND message.number <= known.last
  )
  SELECT EXISTS (SELECT FROM beaten) AS held,
    (SELECT json_agg(json_build_array(placed.id, placed.epoch, placed.cancelled)) FROM @.placed AS placed
      WHERE placed.worker = $1 AND placed.term = $2 AND placed.ended IS NULL) AS calls,
    (SELECT json_agg(json_build_array(news.id, news.epoch, news.number, news.message) ORDER BY news.id, news.number)
      FROM (SELECT known.id, known.epoch, message.number, message.message
        FROM known JOIN @.placed_message AS message ON message.placed = known.id AND message.epoch = known.epoch
          AND message.to_worker AND message.number > known.last
        ORDER BY message.number LIMIT (SELECT $6::int)) AS news) AS messages,
    ARRAY(SELECT DISTINCT placed.queue FROM beaten JOIN @.placed AS placed ON ${SERVES('beaten', 'placed')}
      WHERE placed.worker IS NULL AND placed.ended IS NULL AND placed.deadline > clock_timestamp()) AS waiting,
    (SELECT count(DISTINCT placed.tenant) FROM @.placed AS placed WHERE placed.ended IS NULL) AS tenants`)

/** Fetches jobs, and takes the lease of their calls, which redeems the ticket of this epoch: once. */
export const lease = (name: string, fetch: string, given: number): Statement => statement(name, `
  WITH fetched AS (${fetch}), leased AS (
    UPDATE @.placed AS placed SET worker = $${given + 1}, term = $${given + 2} FROM fetched
    WHERE placed.id = fetched.data->>'id' AND placed.epoch = (fetched.data->>'epoch')::int
      AND placed.worker IS NULL AND placed.ended IS NULL AND placed.deadline > clock_timestamp()
    RETURNING fetched.id AS job, placed.tenant, placed.epoch, placed.ticket, placed.body
  )
  SELECT fetched.*, leased.tenant, leased.epoch, leased.ticket, leased.body FROM fetched LEFT JOIN leased ON leased.job = fetched.id`)

/** Calls that a worker has and does not know: the answer that named it was lost. */
export const OWN = statement('worker_own', `
  SELECT job.id, job.name, job.data, job.retry_count AS "retryCount", job.group_id AS "groupId", placed.tenant,
    placed.epoch, placed.ticket, placed.body
  FROM @.placed AS placed JOIN @JOBS.job_common AS job ON job.name = placed.queue AND job.state = 'active'
    AND job.data->>'id' = placed.id AND (job.data->>'epoch')::int = placed.epoch
  WHERE placed.worker = $1 AND placed.term = $2 AND placed.ended IS NULL AND NOT placed.id = ANY($3::text[])`)

const OF_WORKER = `placed.id = $1 AND placed.epoch = $2 AND placed.worker = $3 AND placed.term = $4`
const HAS_LEASE = `EXISTS (SELECT FROM @.worker AS worker
  WHERE worker.id = $3 AND worker.term = $4 AND ${HELD('worker')})`

/** Notes the first effect of an epoch. It changes the row that ends an epoch, and begins the next one. */
export const BEGIN = statement('placed_begin', `
  WITH noted AS (
    UPDATE @.placed AS placed SET begun = coalesce(placed.begun, $5)
    WHERE ${OF_WORKER} AND placed.ended IS NULL AND ${HAS_LEASE} RETURNING ${DURABLE}
  ) SELECT EXISTS (SELECT FROM noted) AS held`)
/** Before each later effect. */
export const CHECK = statement('placed_check', `
  SELECT EXISTS (SELECT FROM @.placed AS placed
    WHERE ${OF_WORKER} AND placed.begun IS NOT NULL AND placed.ended IS NULL AND ${HAS_LEASE}) AS held`)

export const WRITE_CHUNK = statement('placed_write_chunk', `
  INSERT INTO @.placed_chunk (tenant, placed, epoch, number, bytes)
  SELECT placed.tenant, placed.id, placed.epoch, $5, $6
  FROM @.placed AS placed WHERE ${OF_WORKER} AND placed.ended IS NULL
  ON CONFLICT (tenant, placed, epoch, number) DO UPDATE SET bytes = excluded.bytes RETURNING true AS held`)

/** A lease that is late does not matter here, as long as the epoch is open. */
export const SETTLE = statement('placed_settle', `
  WITH settled AS (
    UPDATE @.placed AS placed SET ended = 'settled', result = $5, chunks = $6
    WHERE ${OF_WORKER} AND placed.ended IS NULL RETURNING placed.caller
  )
  SELECT EXISTS (SELECT FROM settled) OR EXISTS (
      SELECT FROM @.placed AS placed WHERE ${OF_WORKER} AND placed.ended = 'settled') AS counted,
    ${WAKE('settled.caller', 'settled')}`)

/** To the callers of calls. Sent twice, it is there once. */
export const TELL_CALLER = statement('placed_tell_caller', `
  WITH added AS (
    INSERT INTO @.placed_message (tenant, placed, epoch, to_worker, number, message)
    SELECT placed.tenant, one.id, one.epoch, false, one.number, one.message
    FROM ${LISTS('$1::text[]', '$2::int[]', '$3::int[]', '$4::text[]')} AS one (id, epoch, number, message)
      JOIN @.placed AS placed ON placed.id = one.id AND placed.epoch = one.epoch AND placed.ended IS NULL
        AND placed.worker = $5 AND placed.term = $6
    ON CONFLICT DO NOTHING RETURNING placed
  ), told AS (SELECT placed.caller FROM added JOIN @.placed AS placed ON placed.id = added.placed)
  SELECT ${WAKE('told.caller', 'told')}`)

/** Calls that this worker neither runs nor settles any more. */
export const RELEASE = statement('worker_release', `
  WITH lost AS (
    UPDATE @.placed AS placed SET ended = 'lost' FROM unnest($3::text[], $4::int[]) AS one (id, epoch)
    WHERE placed.id = one.id AND placed.epoch = one.epoch AND placed.worker = $1 AND placed.term = $2
      AND placed.ended IS NULL RETURNING placed.caller
  ) SELECT ${WAKE('lost.caller', 'lost')}`)
export const DRAIN = statement('worker_drain', 'UPDATE @.worker SET draining = true WHERE id = $1 AND term = $2')
export const LEAVE = statement('worker_leave', `
  WITH gone AS (DELETE FROM @.worker WHERE id = $1 AND term = $2 RETURNING id), lost AS (
    UPDATE @.placed AS placed SET ended = 'lost' FROM gone
    WHERE placed.worker = gone.id AND placed.ended IS NULL RETURNING placed.caller
  ) SELECT ${WAKE('lost.caller', 'lost')}`)
