import { storeError } from '@bulkhead/store/records'
import { Database, statement, type Run } from '../connection/database.ts'
import { readStoreUrl } from '../connection/store-url.ts'
import { tenantOf, tenantRole } from '../connection/tenant.ts'
import { RIGHTS, TENANT_TABLES } from '../migrations/tenants.ts'
import { bringUpToDate, SCHEMA_VERSION, schemaState, unnamed } from '../schema.ts'
import { newPassword, scramVerifier } from './scram.ts'

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

const SELF = statement('', `
  SELECT rolcreaterole OR rolsuper AS may, current_user AS role,
    pg_has_role((SELECT relowner FROM pg_class WHERE oid = '@.gate'::regclass), 'USAGE') AS owns,
    (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = '@.gate'::regclass) AS owner
  FROM pg_roles WHERE rolname = current_user`)
const EXISTS = statement('', 'SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role')
const END_CONNECTIONS = statement('', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1')
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
      await run(unnamed(`CREATE ROLE "${role}" LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
        CONNECTION LIMIT ${CONNECTIONS} PASSWORD '${scramVerifier(password)}'`))
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
    // Only a superuser, or a member of pg_signal_backend, may. Otherwise they end when they find that they have no rights.
    await database.query(END_CONNECTIONS, [role]).catch(() => undefined)
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

/** Opens a database whose tables have tenants. */
async function within<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = new Database(readStoreUrl(url))
  try {
    if (database.tenant !== '') {
      throw refused(`The URL names the tenant ${database.tenant}. Log in as a role that may create roles and owns the tables.`)
    }
    await bringUpToDate(database)
    if ((await schemaState(database)).schema < SCHEMA_VERSION) {
      throw refused(`The store ${database.url.shown} has tables for hosts of an older version, and some of these still run. `
        + 'Stop or update them (bulkhead ps), and run: bulkhead store migrate')
    }
    return await work(database)
  } finally {
    await database.close()
  }
}

/** What the role must be able to do. Rejects with StoreUnavailable that names it. */
async function requireRights(run: Run, { url: { shown, schema } }: Database) {
  const [row] = await run(SELF)
  const [role, owner] = [String(row!['role']), String(row!['owner'])]
  if (row!['may'] !== true) {
    throw refused(`The role ${role} may not create roles on ${shown}. Log in as one that may, or run: ALTER ROLE "${role}" CREATEROLE`)
  }
  if (row!['owns'] !== true) {
    throw refused(`The role ${role} does not own the tables of ${shown}. Run: GRANT "${owner}" TO "${role}"`)
  }
  if (tenantOf(schema, owner) !== '') throw refused(`The tables of ${shown} belong to a tenant. Give them to another role.`)
  return { owner }
}

const refused = (message: string) => storeError('refused-value', message)
