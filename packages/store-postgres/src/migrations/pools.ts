/** Whose worker it is, so that a role of workers can be kept from those of others. Every tenant sees all workers. */
export const POOLS = `
  ALTER TABLE @.worker ADD COLUMN role text NOT NULL DEFAULT current_user, ENABLE ROW LEVEL SECURITY;
  CREATE POLICY everyone ON @.worker USING (true);`

/** What workers of a pool may do, by table of ours. They see the calls that `poolPolicies` lets them see. */
export const POOL_RIGHTS: ReadonlyMap<string, string> = new Map([
  ['store_version', 'SELECT'],
  ['worker', 'SELECT, INSERT, UPDATE, DELETE'],
  ['placed', 'SELECT, UPDATE (worker, term, ended, begun, result, chunks)'],
  ['placed_message', 'SELECT, INSERT, DELETE'],
  ['placed_chunk', 'SELECT, INSERT, UPDATE'],
  ['package', 'SELECT, UPDATE (used)'],
  ['package_chunk', 'SELECT'],
])

/** Maintenance removes what is old. It sees no ticket, argument, result or package. */
export const MAINTENANCE_RIGHTS: ReadonlyMap<string, string> = new Map([
  ['store_version', 'SELECT'],
  ['worker', 'SELECT, DELETE'],
  ['placed', 'SELECT (id, epoch, worker, term, ended, closed, begun, begun_before, deadline), DELETE'],
  ['package', 'SELECT (used), DELETE'],
])

/** The tables of pg-boss with jobs. */
export const JOB_TABLES = ['job', 'job_common'] as const

const textArray = (values: readonly string[]): string => `'{${values.map((value) => `"${value}"`).join()}}'::text[]`

/**
 * Restrictive: they narrow what all others may see. By table of ours, and of pg-boss for jobs. The names have no
 * characters that end a text.
 */
export function poolPolicies(labels: readonly string[], workspaces: readonly string[]): ReadonlyMap<string, string> {
  const [own, places] = [textArray(labels), textArray(workspaces)]
  const ofCall = 'EXISTS (SELECT FROM @.placed AS call WHERE call.tenant = @TABLE.tenant AND call.id = @TABLE.placed)'
  const ofTenant = 'EXISTS (SELECT FROM @.placed AS call WHERE call.tenant = @TABLE.tenant)'
  const all = new Map([
    ['@.placed', `labels <@ ${own} AND (workspace IS NULL OR workspace = ANY(${places}))`],
    ['@.worker', `role = current_user AND labels <@ ${own} AND workspaces <@ ${places}`],
    ['@.placed_message', ofCall], ['@.placed_chunk', ofCall], ['@.package', ofTenant], ['@.package_chunk', ofTenant],
    ...JOB_TABLES.map((table) => [`@JOBS.${table}`, "EXISTS (SELECT FROM @.placed AS call WHERE call.id = data->>'id')"] as const),
  ])
  return new Map([...all].map(([table, condition]) => [table, condition.replaceAll('@TABLE', table.replace(/^@\w*\./, ''))]))
}
