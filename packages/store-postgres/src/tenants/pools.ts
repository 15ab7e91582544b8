import { WORKER_LABEL_PATTERN, WORKSPACE_NAME_PATTERN } from '@bulkhead/contract'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { Database, jobsSchema, statement, type Run } from '../connection/database.ts'
import { readStoreUrl } from '../connection/store-url.ts'
import { poolRole } from '../connection/tenant.ts'
import { JOB_TABLES, MAINTENANCE_RIGHTS, POOL_RIGHTS, poolPolicies } from '../migrations/pools.ts'
import { Jobs } from '../placements/jobs.ts'
import { sweep } from '../placements/sweep.ts'
import { unnamed } from '../schema.ts'
import { createLogin, endConnections, EXISTS, refused, requireRights, within } from './administration.ts'
import { newPassword } from './scram.ts'
import type { PostgresTenantLogin } from './tenants.ts'

/** Which calls workers of a pool may see, or that the login maintains. */
export type PostgresPool = { readonly labels: readonly string[]; readonly workspaces: readonly string[] } | 'maintenance'

export interface ListedPool {
  readonly name: string
  readonly role: string
  readonly pool: PostgresPool
  /** Connections that it has now. */
  readonly connections: number
}

const LIST = statement('', `
  SELECT rolname AS role, obj_description(pol.oid, 'pg_policy') AS pool,
    (SELECT count(*) FROM pg_stat_activity WHERE usename = rolname) AS connections
  FROM pg_roles LEFT JOIN pg_policy AS pol ON pol.polname = rolname AND pol.polrelid = '@.placed'::regclass
  WHERE starts_with(rolname, $1) ORDER BY 1`)
const JOBS_OWNER = statement('', 'SELECT pg_get_userbyid(nspowner) AS owner FROM pg_namespace WHERE nspname = $1')
const POLICIES = statement('', `
  SELECT relname AS table, relnamespace::regnamespace::text AS schema FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
  WHERE polname = $1`)
const SECURED = statement('', `
  SELECT EXISTS (SELECT FROM pg_policy WHERE polname = 'everyone' AND polrelid = '@JOBS.job_common'::regclass) AS secured`)

/** Makes the login of the workers of a pool, as `addTenant` makes that of a tenant. Rejects as that does. */
export async function addPool(
  url: string, name: string, pool: PostgresPool, keep: (login: PostgresTenantLogin) => Promise<void>,
): Promise<PostgresTenantLogin> {
  refuseNames(pool)
  return within(url, async (database) => {
    const { schema } = database.url
    const role = poolRole(schema, name)
    // The tables of pg-boss, which the first worker makes otherwise.
    await (await Jobs.start(database)).stop()
    return database.transaction(async (run) => {
      const { owner } = await requireRights(run, database)
      const [found] = await run(EXISTS, [role])
      if (found!['role'] === true) throw refused(`The role ${role} exists already. Choose another name, or remove it first.`)
      const password = newPassword()
      await createLogin(run, role, password)
      const grant = (rights: string, on: string) => run(unnamed(`GRANT ${rights} ON ${on} TO "${role}"`))
      await asOwnerOf(run, owner, async () => {
        await grant('USAGE', `SCHEMA "${schema}"`)
        for (const [table, rights] of pool === 'maintenance' ? MAINTENANCE_RIGHTS : POOL_RIGHTS) await grant(rights, `@.${table}`)
        if (pool !== 'maintenance') await restrict(run, role, pool, false)
        else await run(unnamed(`CREATE POLICY "${role}" ON @.placed AS RESTRICTIVE TO "${role}" USING (true)`))
        await run(unnamed(`COMMENT ON POLICY "${role}" ON @.placed IS '${JSON.stringify(pool)}'`))
      })
      const jobs = jobsSchema(schema)
      await asOwnerOf(run, await jobsOwner(run, schema), async () => {
        await grant('USAGE', `SCHEMA ${jobs}`)
        if (pool === 'maintenance') return grant('SELECT, INSERT, UPDATE, DELETE', `ALL TABLES IN SCHEMA ${jobs}`)
        const [done] = await run(SECURED)
        for (const table of done!['secured'] === true ? [] : JOB_TABLES) {
          await run(unnamed(`ALTER TABLE @JOBS.${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY everyone ON @JOBS.${table} USING (true)`))
        }
        await grant('SELECT', '@JOBS.queue, @JOBS.version')
        await grant('SELECT, UPDATE', JOB_TABLES.map((table) => `@JOBS.${table}`).join())
        return restrict(run, role, pool, true)
      })
      const login = { name, role, password }
      await keep(login)
      return login
    }, true)
  })
}

export async function listPools(url: string): Promise<readonly ListedPool[]> {
  return within(url, async (database) => {
    const prefix = poolRole(database.url.schema, 'x').slice(0, -1)
    return (await database.query(LIST, [prefix])).map((row) => ({
      name: String(row['role']).slice(prefix.length), role: String(row['role']), pool: poolIn(String(row['pool'])),
      connections: Number(row['connections']),
    }))
  })
}

/** Its workers lose their calls. Rejects as `addTenant` does. */
export async function removePool(url: string, name: string): Promise<void> {
  await within(url, async (database) => {
    const { schema } = database.url
    const role = poolRole(schema, name)
    await endConnections(database, role)
    await database.transaction(async (run) => {
      const { owner } = await requireRights(run, database)
      const [found] = await run(EXISTS, [role])
      if (found!['role'] !== true) throw refused(`There is no pool ${name}.`)
      const policies = await run(POLICIES, [role])
      const jobs = jobsSchema(schema)
      for (const [place, by] of [[schema, owner], [jobs, await jobsOwner(run, schema)]] as const) {
        await asOwnerOf(run, by, async () => {
          for (const { schema: at, table } of policies) {
            if (at === place) await run(unnamed(`DROP POLICY "${role}" ON "${place}"."${String(table)}"`))
          }
          await run(unnamed(`REVOKE ALL ON ALL TABLES IN SCHEMA "${place}" FROM "${role}"; REVOKE ALL ON SCHEMA "${place}" FROM "${role}"`))
        })
      }
      await run(unnamed(`DROP ROLE "${role}"`))
    }, true)
  })
}

/**
 * Does once what workers of the main role do from time to time: what is old is removed, and jobs that are too late end.
 * For the login of maintenance, or the main role. Rejects with StoreUnavailable.
 */
export async function maintainPostgres(url: string): Promise<void> {
  const database = new Database(readStoreUrl(url))
  try {
    const jobs = await Jobs.start(database)
    try {
      await jobs.complete(await sweep(database))
      await jobs.maintain()
    } finally {
      await jobs.stop()
    }
  } finally {
    await database.close()
  }
}

async function restrict(run: Run, role: string, pool: Exclude<PostgresPool, string>, ofJobs: boolean): Promise<void> {
  for (const [table, condition] of poolPolicies(pool.labels, pool.workspaces)) {
    if (table.startsWith('@JOBS.') !== ofJobs) continue
    await run(unnamed(`CREATE POLICY "${role}" ON ${table} AS RESTRICTIVE TO "${role}" USING (${condition})`))
  }
}

/** Grants are those of the owner. */
async function asOwnerOf(run: Run, owner: string, work: () => Promise<unknown>): Promise<void> {
  await run(unnamed(`SET LOCAL ROLE "${owner}"`))
  await work()
  await run(unnamed('RESET ROLE'))
}

async function jobsOwner(run: Run, schema: string): Promise<string> {
  const [row] = await run(JOBS_OWNER, [jobsSchema(schema)])
  return String(row!['owner'])
}

function poolIn(text: string): PostgresPool {
  const parsed = parseJson(text)
  if (!parsed.ok || !isJsonObject(parsed.value)) return 'maintenance'
  const { labels, workspaces } = parsed.value
  const listed = (value: unknown) => Array.isArray(value) ? value.map(String) : []
  return { labels: listed(labels), workspaces: listed(workspaces) }
}

/** Throws StoreUnavailable. They become part of statements. */
function refuseNames(pool: PostgresPool): void {
  if (pool === 'maintenance') return
  const wrong = pool.labels.find((one) => !WORKER_LABEL_PATTERN.test(one)) ?? pool.workspaces.find((one) => !WORKSPACE_NAME_PATTERN.test(one))
  if (wrong !== undefined) throw refused(`"${wrong}" is neither a label, such as gpu or region=eu, nor the name of a workspace.`)
}
