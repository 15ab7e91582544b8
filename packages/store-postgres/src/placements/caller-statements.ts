import { statement } from '../connection/database.ts'

/** A server that has just started was out of reach for workers, and renews no lease of its own accord. */
export const HELD = (worker: string): string => `(${worker}.lease_until > clock_timestamp()
  OR pg_postmaster_start_time() > clock_timestamp() - ${worker}.lease)`
export const SERVES = (worker: string, demand: string): string => `(${worker}.major = ${demand}.major
  AND ${worker}.labels @> ${demand}.labels
  AND (${demand}.workspace IS NULL OR ${demand}.workspace = ANY(${worker}.workspaces)))`
const READY = (worker: string): string => `(NOT ${worker}.draining AND ${HELD(worker)})`
const LOAD = (worker: string): string => `(SELECT count(*) FROM @.placed AS own
  WHERE own.worker = ${worker}.id AND own.term = ${worker}.term AND own.ended IS NULL)`

/**
 * Rows of lists. Their length is hidden from the planner: it would plan the statement anew each time, which takes longer
 * than to run it.
 */
export const LISTS = (...lists: readonly string[]): string => `unnest(${lists.map((list) => `(SELECT ${list})`).join(', ')})`

/** Wakes those who wait for something. */
export const WAKE = (channel: string, from: string): string =>
  `(SELECT count(pg_notify(woken.channel, '')) FROM (SELECT DISTINCT ${channel} AS channel FROM ${from}) AS woken
    WHERE woken.channel IS NOT NULL)`
/** Where the worker of a call hears of it. */
const CHANNEL_OF = (placed: string): string =>
  `(SELECT worker.channel FROM @.worker AS worker WHERE worker.id = ${placed}.worker)`
/** Where a worker hears of calls that wait. */
export const workChannel = (channel: string): string => `${channel}_w`

/** Wakes the one with the most room. The others look from time to time. The trigger of the table writes the job. */
export const PLACE = statement('placed_place', `
  WITH demand AS (SELECT $3::text[] AS labels, $4::text AS workspace, $5::int AS major),
  ready AS MATERIALIZED (
    SELECT worker.channel FROM @.worker AS worker, demand WHERE ${SERVES('worker', 'demand')} AND ${READY('worker')}
    ORDER BY ${LOAD('worker')}::float / worker.capacity, random() LIMIT 1
  ), added AS (
    INSERT INTO @.placed (id, queue, labels, workspace, major, session, call, caller, deadline, ticket, body)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 ms', $10, $11 FROM ready
    ON CONFLICT DO NOTHING RETURNING id
  )
  SELECT EXISTS (SELECT FROM added) OR EXISTS (SELECT FROM @.placed AS placed WHERE placed.id = $1) AS placed,
    (SELECT count(pg_notify(ready.channel || '_w', '')) FROM ready, added)`)

/**
 * What is new of the calls of a host. From time to time it also ends those whose worker lost its lease, and those that no
 * worker takes any more: in the row that a worker must change to take a call, to begin its first effect and to settle.
 */
export const WATCH = statement('placed_watch', `
  WITH mine AS MATERIALIZED (
    SELECT * FROM ${LISTS('$1::text[]', '$2::int[]', '$3::int[]', '$4::boolean[]', '$5::boolean[]')}
      AS mine (id, epoch, last, is_taken, has_begun)
  ), judged AS (
    UPDATE @.placed AS placed SET ended = CASE WHEN placed.worker IS NULL THEN 'untaken' ELSE 'lost' END
    FROM mine WHERE (SELECT $7::boolean) AND placed.id = mine.id AND placed.epoch = mine.epoch AND placed.ended IS NULL AND CASE
      WHEN placed.worker IS NULL THEN placed.deadline < clock_timestamp() OR NOT EXISTS (
        SELECT FROM @.worker AS worker WHERE ${SERVES('worker', 'placed')} AND ${READY('worker')})
      ELSE NOT EXISTS (
        SELECT FROM @.worker AS worker
        WHERE worker.id = placed.worker AND worker.term = placed.term AND ${HELD('worker')}) END
    RETURNING placed.id, placed.ended, placed.worker, placed.begun
  ), heard AS (
    DELETE FROM @.placed_message AS message USING mine WHERE mine.last > 0 AND message.placed = mine.id
      AND message.epoch = mine.epoch AND NOT message.to_worker AND message.number <= mine.last
  ), found AS (
    SELECT mine.*, placed.id IS NULL AS is_gone, coalesce(judged.worker, placed.worker) AS worker,
      coalesce(judged.begun, placed.begun) AS begun, coalesce(judged.ended, placed.ended) AS ended,
      placed.result, placed.chunks, (
        SELECT json_agg(json_build_array(news.number, news.message) ORDER BY news.number) FROM (
          SELECT message.number, message.message FROM @.placed_message AS message
          WHERE message.placed = mine.id AND message.epoch = mine.epoch AND NOT message.to_worker
            AND message.number > mine.last ORDER BY message.number LIMIT (SELECT $6::int)) AS news) AS messages
    FROM mine LEFT JOIN @.placed AS placed ON placed.id = mine.id AND placed.epoch = mine.epoch
      LEFT JOIN judged ON judged.id = mine.id
  )
  SELECT * FROM found WHERE is_gone OR ended IS NOT NULL OR messages IS NOT NULL
    OR (worker IS NOT NULL AND NOT is_taken) OR (begun IS NOT NULL AND NOT has_begun)`)

export const CHUNK = statement('placed_chunk',
  'SELECT bytes FROM @.placed_chunk WHERE placed = $1 AND epoch = $2 AND number = $3')

/** To the workers of calls. Sent twice, it is there once. */
export const TELL_WORKER = statement('placed_tell_worker', `
  WITH added AS (
    INSERT INTO @.placed_message (tenant, placed, epoch, to_worker, number, message)
    SELECT placed.tenant, one.id, one.epoch, true, one.number, one.message
    FROM ${LISTS('$1::text[]', '$2::int[]', '$3::int[]', '$4::text[]')} AS one (id, epoch, number, message)
      JOIN @.placed AS placed ON placed.id = one.id AND placed.epoch = one.epoch AND placed.ended IS NULL
    ON CONFLICT DO NOTHING RETURNING placed
  ), told AS (SELECT placed.worker FROM added JOIN @.placed AS placed ON placed.id = added.placed)
  SELECT ${WAKE(CHANNEL_OF('told'), 'told')}`)

export const CANCEL = statement('placed_cancel', `
  WITH done AS (
    UPDATE @.placed AS placed SET cancelled = true, ended = CASE WHEN placed.worker IS NULL THEN 'untaken' END
    WHERE placed.id = $1 AND placed.epoch = $2 AND placed.ended IS NULL RETURNING placed.worker
  ) SELECT ${WAKE(CHANNEL_OF('done'), 'done')}`)

/** The next epoch is written to the row that the worker of the last one must change before an effect. */
export const AGAIN = statement('placed_again', `
  WITH next AS (
    UPDATE @.placed AS placed SET epoch = placed.epoch + 1, ticket = $3, worker = NULL, term = NULL, ended = NULL,
      cancelled = false, begun = NULL,
      begun_before = CASE WHEN placed.begun IS NULL THEN placed.begun_before
        ELSE placed.begun_before || placed.begun END
    WHERE placed.id = $1 AND placed.epoch = $2 AND placed.ended = 'lost' AND placed.closed IS NULL
      AND (placed.begun IS NULL OR $4::boolean)
    RETURNING placed.id, placed.labels, placed.workspace, placed.major
  ), ready AS MATERIALIZED (
    SELECT worker.channel FROM @.worker AS worker, next WHERE ${SERVES('worker', 'next')} AND ${READY('worker')}
    ORDER BY ${LOAD('worker')}::float / worker.capacity, random() LIMIT 1
  ), emptied AS (DELETE FROM @.placed_chunk AS chunk USING next WHERE chunk.placed = next.id),
  silenced AS (DELETE FROM @.placed_message AS message USING next WHERE message.placed = next.id)
  SELECT EXISTS (SELECT FROM next) OR EXISTS (
      SELECT FROM @.placed AS placed WHERE placed.id = $1 AND placed.epoch = $2 + 1 AND placed.ticket = $3) AS placed,
    (SELECT count(pg_notify(ready.channel || '_w', '')) FROM ready)`)

export const FORGET = statement('placed_forget', `
  WITH gone AS (
    DELETE FROM @.placed AS placed USING ${LISTS('$1::text[]')} AS one (id) WHERE placed.id = one.id
    RETURNING placed.worker, placed.ended
  )
  SELECT ${WAKE(CHANNEL_OF('gone'), 'gone WHERE gone.ended IS NULL')}`)

/** Of a caller that is gone. Each row stays until it is swept, so that this can be asked again. */
export const CLOSE = statement('placed_close', `
  WITH shut AS (
    UPDATE @.placed AS placed SET closed = clock_timestamp(), ended = coalesce(placed.ended, 'closed')
    WHERE placed.tenant = @TENANT AND placed.session = $1 AND placed.call = $2
    RETURNING placed.at, placed.worker, placed.begun_before, placed.begun
  )
  SELECT ${WAKE(CHANNEL_OF('shut'), 'shut')}, coalesce((
    SELECT json_agg(one.begun ORDER BY shut.at) FROM shut, unnest(shut.begun_before || shut.begun) AS one (begun)
    WHERE one.begun IS NOT NULL), '[]') AS begun`)

export const LIST = statement('worker_list', `
  SELECT worker.info, worker.draining, ${HELD('worker')} AS held, ${LOAD('worker')} AS load,
    (extract(epoch FROM worker.since) * 1000)::bigint AS since,
    greatest(0, extract(epoch FROM clock_timestamp() - worker.lease_until + worker.lease) * 1000)::bigint AS silent
  FROM @.worker AS worker ORDER BY worker.since, worker.id`)
