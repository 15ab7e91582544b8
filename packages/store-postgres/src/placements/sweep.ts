import { statement, type Database } from '../connection/database.ts'
import { HELD } from './caller-statements.ts'
import type { FetchedJob } from './jobs.ts'

/** How often a worker sweeps. */
export const SWEEP_MS = 10 * 60_000

const ENDED = `NOT EXISTS (SELECT FROM @.worker AS worker
  WHERE worker.id = placed.worker AND worker.term = placed.term AND placed.ended IS NULL AND ${HELD('worker')})`

/**
 * Removes what its owner has not removed: calls of callers that are gone, workers that are gone, and packages that are
 * not used. A call that has begun something is kept until another host has closed it, or for a month.
 */
const SWEEP = statement('placed_sweep', `
  WITH calls AS (
    DELETE FROM @.placed AS placed WHERE ${ENDED} AND CASE
      WHEN placed.closed IS NOT NULL THEN placed.closed < clock_timestamp() - interval '1 day'
      WHEN placed.begun IS NULL AND placed.begun_before = '{}' THEN placed.deadline < clock_timestamp() - interval '1 day'
      ELSE placed.deadline < clock_timestamp() - interval '30 days' END
  ), workers AS (DELETE FROM @.worker AS worker WHERE worker.lease_until < clock_timestamp() - interval '1 hour')
  DELETE FROM @.package WHERE used < current_date - 30`)

/** Jobs that a worker fetched and did not complete before it was gone. Their calls are over, or wait with another job. */
const LEFT = statement('placed_left_jobs', `
  SELECT job.name AS queue, job.id, job.retry_count AS "retryCount" FROM @JOBS.job_common AS job
  WHERE job.state = 'active' AND job.started_on < clock_timestamp() - interval '1 minute' AND NOT EXISTS (
    SELECT FROM @.placed AS placed WHERE placed.id = job.data->>'id' AND placed.epoch = (job.data->>'epoch')::int
      AND placed.worker IS NOT NULL AND placed.ended IS NULL)
  LIMIT 1000`)

/** Resolves with the jobs that are left to complete. */
export async function sweep(database: Database): Promise<readonly FetchedJob[]> {
  await database.query(SWEEP)
  return await database.query(LEFT) as unknown as readonly FetchedJob[]
}
