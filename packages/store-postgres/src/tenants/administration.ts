import { storeError } from '@bulkhead/store/records'
import { Database, statement, type Run } from '../connection/database.ts'
import { readStoreUrl } from '../connection/store-url.ts'
import { tenantOf } from '../connection/tenant.ts'
import { bringUpToDate, SCHEMA_VERSION, schemaState, unnamed } from '../schema.ts'
import { scramVerifier } from './scram.ts'

const SELF = statement('', `
  SELECT rolcreaterole OR rolsuper AS may, current_user AS role,
    pg_has_role((SELECT relowner FROM pg_class WHERE oid = '@.gate'::regclass), 'USAGE') AS owns,
    (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = '@.gate'::regclass) AS owner
  FROM pg_roles WHERE rolname = current_user`)
export const EXISTS = statement('', 'SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role')
const END_CONNECTIONS = statement('', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1')

/** `connections`: the most that it may have at once. -1: as the server allows. */
export async function createLogin(run: Run, role: string, password: string, connections = -1): Promise<void> {
  await run(unnamed(`CREATE ROLE "${role}" LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    CONNECTION LIMIT ${connections} PASSWORD '${scramVerifier(password)}'`))
}

/** Only a superuser, or a member of pg_signal_backend, may. Otherwise they end when they find that they have no rights. */
export async function endConnections(database: Database, role: string): Promise<void> {
  await database.query(END_CONNECTIONS, [role]).catch(() => undefined)
}

/** Opens a database whose tables have tenants, to make and remove logins. */
export async function within<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = new Database(readStoreUrl(url))
  try {
    if (database.tenant !== '' || database.isPool) {
      const who = database.isPool ? `role of workers ${database.url.user}` : `tenant ${database.tenant}`
      throw refused(`The URL names the ${who}. Log in as a role that may create roles and owns the tables.`)
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
export async function requireRights(run: Run, { url: { shown, schema } }: Database) {
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

export const refused = (message: string) => storeError('refused-value', message)
