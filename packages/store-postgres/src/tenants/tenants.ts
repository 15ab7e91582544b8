import { statement } from '../connection/database.ts'
import { tenantRole } from '../connection/tenant.ts'
import { RIGHTS, TENANT_TABLES } from '../migrations/tenants.ts'
import { unnamed } from '../schema.ts'
import { createLogin, endConnections, EXISTS, refused, requireRights, within } from './administration.ts'
import { newPassword } from './scram.ts'

export interface PostgresTenantLogin {
  readonly name: string
  /** What it logs in as. */
  readonly role: string
  readonly password: string
}

export interface ListedTenant {
  readonly name: string
  readonly role: string
  /** By the operator. */
  readonly frozen: boolean
  /** Connections that it has now. */
  readonly connections: number
}

/** Of one tenant, so that it cannot use up those of the server. */
const CONNECTIONS = 24

const NEW_GATE = statement('', 'INSERT INTO @.gate (tenant) VALUES ($1) ON CONFLICT DO NOTHING RETURNING tenant')
const GATES = statement('', `
  SELECT tenant, held IS NOT NULL AS frozen, (SELECT count(*) FROM pg_stat_activity WHERE usename = $1 || tenant) AS connections
  FROM @.gate WHERE tenant <> '' ORDER BY tenant`)

/**
 * Makes the role of a new tenant, with the rights that its hosts need on our tables and none else. `keep` is given the
 * login before that is final, and nothing is made if it rejects. Rejects with ConfigInvalid for an invalid name, and with
 * StoreUnavailable.
 */
export async function addTenant(
  url: string, name: string, keep: (login: PostgresTenantLogin) => Promise<void>,
): Promise<PostgresTenantLogin> {
  return within(url, async (database) => {
    const { schema } = database.url
    const role = tenantRole(schema, name)
    return database.transaction(async (run) => {
      const { owner } = await requireRights(run, database)
      const [found] = await run(EXISTS, [role])
      if (found!['role'] === true) throw refused(`The role ${role} exists already. Choose another name, or remove it first.`)
      if ((await run(NEW_GATE, [name])).length === 0) {
        throw refused(`The tenant ${name} has records and no role. Run: bulkhead store tenant remove ${name}`)
      }
      const password = newPassword()
      await createLogin(run, role, password, CONNECTIONS)
      // As the owner, whose grants they are.
      await run(unnamed(`SET LOCAL ROLE "${owner}"`))
      await run(unnamed(`GRANT USAGE ON SCHEMA "${schema}" TO "${role}"`))
      for (const [table, rights] of RIGHTS) await run(unnamed(`GRANT ${rights} ON @.${table} TO "${role}"`))
      await run(unnamed('RESET ROLE'))
      const login = { name, role, password }
      await keep(login)
      return login
    })
  })
}

export async function listTenants(url: string): Promise<readonly ListedTenant[]> {
  return within(url, async (database) => {
    const prefix = tenantRole(database.url.schema, 'x').slice(0, -1)
    return (await database.query(GATES, [prefix])).map((row) => ({
      name: String(row['tenant']), role: prefix + String(row['tenant']), frozen: row['frozen'] === true,
      connections: Number(row['connections']),
    }))
  })
}

/** Removes the role and every record of a tenant. Rejects as `addTenant` does. */
export async function removeTenant(url: string, name: string): Promise<void> {
  await within(url, async (database) => {
    const { schema } = database.url
    const role = tenantRole(schema, name)
    await endConnections(database, role)
    await database.transaction(async (run) => {
      const { owner } = await requireRights(run, database)
      const [found] = await run(EXISTS, [role])
      const known = (await run(GATES, [''])).some((row) => row['tenant'] === name)
      if (!known && found!['role'] !== true) throw refused(`There is no tenant ${name}.`)
      if (found!['role'] === true) {
        await run(unnamed(`SET LOCAL ROLE "${owner}"`))
        await run(unnamed(`REVOKE ALL ON ALL TABLES IN SCHEMA "${schema}" FROM "${role}"`))
        await run(unnamed(`REVOKE ALL ON SCHEMA "${schema}" FROM "${role}"`))
        await run(unnamed('RESET ROLE'))
        await run(unnamed(`DROP ROLE "${role}"`))
      }
      for (const table of TENANT_TABLES.toReversed()) await run(unnamed(`DELETE FROM @.${table} WHERE tenant = '${name}'`))
    }, true)
  })
}
