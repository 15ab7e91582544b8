import { storeError } from '@bulkhead/store/records'
import { statement, type Database, type Row, type Run } from './connection/database.ts'
import { currentTenant, tenantOf } from './connection/tenant.ts'
import { HOSTS } from './migrations/hosts.ts'
import { ADD_TENANTS, ONLY_TENANT_KEYS } from './migrations/tenants.ts'
import { POOLS } from './migrations/pools.ts'
import { WORKERS } from './migrations/workers.ts'

/** The first version with everything that the statements use. */
const OLDEST_SERVER = 15

/**
 * Forward only. A schema of version N has had the first N of these. A published migration never changes, and a host of
 * the version before must be able to go on: hosts are replaced one after the other.
 */
const MIGRATIONS: readonly string[] = [HOSTS, WORKERS, ADD_TENANTS, ONLY_TENANT_KEYS, POOLS]

export const SCHEMA_VERSION = MIGRATIONS.length
/**
 * The migration after this one takes keys away that hosts of the version before name. It waits until none of them lives,
 * and hosts of this version can do without it and what follows. Tenants and pools cannot.
 */
const OLDEST_SCHEMA = 3

const SERVER = statement('server', `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
    pg_encoding_to_char(encoding) AS encoding, pg_is_in_recovery() AS standby,
    to_regclass('@.store_version') IS NOT NULL AS present, current_user AS role
  FROM pg_database WHERE datname = current_database()`)
const VERSION = statement('version', 'SELECT version FROM @.store_version')

export interface SchemaState {
  /** Of the server, in words. */
  readonly server: string
  /** Of the tables. 0: there are none yet. */
  readonly schema: number
}

/** Throws StoreUnavailable for a server, or tables, that this version cannot use. */
export async function schemaState(database: Database): Promise<SchemaState> {
  const [row] = await database.query(SERVER)
  const { version, number, encoding, standby, present, role } = row!
  const { shown } = database.url
  const refuse = (what: string) => storeError('server', `The store ${shown} cannot be used: ${what}`, { data: { store: shown } })
  if (Number(number) < OLDEST_SERVER * 10_000) {
    throw refuse(`its server is PostgreSQL ${String(version)}. Use ${OLDEST_SERVER} or newer.`)
  }
  if (encoding !== 'UTF8') throw refuse(`its database has the encoding ${String(encoding)}. Create one with UTF8.`)
  if (standby === true) throw refuse('its server is a standby. Name the primary server.')
  // A pooler may log in as another role than the URL names.
  if (tenantOf(database.url.schema, String(role)) !== database.tenant) throw refuse(`the server knows its user as ${String(role)}.`)
  const schema = present === true ? versionIn(await database.query(VERSION)) : 0
  refuseNewer(database, schema)
  return { server: String(version), schema }
}

const versionIn = ([row]: readonly Row[]): number => Number(row?.['version'] ?? 0)

function refuseNewer({ url: { shown } }: Database, schema: number): void {
  if (schema <= MIGRATIONS.length) return
  throw storeError('newer', `The store ${shown} has version ${schema}, but this host supports versions up to `
    + `${MIGRATIONS.length}. It was not changed. Update the host, or use another store.`,
  { data: { store: shown, version: schema, known: MIGRATIONS.length } })
}

/** Of the lock under which the first table is made: "BKHD". */
const LOCK = 0x424b4844
/** How long a migration waits for a table. What comes after it waits for it, so it gives up before that hurts. */
const TABLE_MS = 5_000

/**
 * Does work that changes tables while no other host does. The lock is one that no tenant can take, so that none can hold
 * up a migration. Before there are tables, there are no tenants.
 */
export const alone = <T>(database: Database, work: (run: Run) => Promise<T>): Promise<T> =>
  database.transaction(async (run) => {
    const { schema } = database.url
    const [found] = await run(unnamed("SELECT to_regclass('@.store_version') IS NOT NULL AS present"))
    if (found!['present'] !== true) {
      await run(unnamed(`SELECT pg_advisory_xact_lock(${LOCK}, hashtext('${schema}'))`))
      await makeSchema(run, schema)
    }
    await run(unnamed('LOCK TABLE @.store_version IN SHARE ROW EXCLUSIVE MODE'))
    return work(run)
  }, true)

/** Brings the tables to this version. One host does it, and the others wait. Resolves with the versions before and after. */
export async function migrate(database: Database, migrations = MIGRATIONS): Promise<readonly [from: number, to: number]> {
  const { schema } = database.url
  return alone(database, async (run) => {
    const fill = (step: string): string =>
      step.replaceAll('@#', channelOf(schema)).replaceAll('@SCHEMA', schema).replaceAll('@WHO', currentTenant(schema))
    const from = versionIn(await run(unnamed('SELECT version FROM @.store_version')))
    refuseNewer(database, from)
    await run(unnamed(`SET LOCAL lock_timeout = ${TABLE_MS}`))
    let to = from
    for (const step of migrations.slice(from)) {
      if (to === OLDEST_SCHEMA && (await run(OLDER_HOSTS)).length > 0) break
      await run(unnamed(fill(step)))
      to++
    }
    if (from < to) await run(unnamed(`UPDATE @.store_version SET version = ${to}`))
    return [from, to] as const
  })
}

/** Hosts that live and were started with a version that needs the old keys. */
const OLDER_HOSTS = statement('', `
  SELECT seat.id FROM @.seat AS seat JOIN @.heartbeat AS beat ON beat.seat = seat.id
  WHERE knows < ${OLDEST_SCHEMA} AND ended IS NULL AND taken_by IS NULL AND beat.at > clock_timestamp() - interval '@GONE'`)

/** Migrates if that is needed, or possible. Hosts of a tenant change no table. */
export async function bringUpToDate(database: Database): Promise<void> {
  const { schema } = await schemaState(database)
  if (schema === SCHEMA_VERSION) return
  if (database.tenant !== '') {
    const { shown } = database.url
    throw storeError('server', `The store ${shown} has no tenants yet. Run: bulkhead store migrate`, { data: { store: shown } })
  }
  await migrate(database).catch((error: unknown) => {
    // The role may not change tables, or something uses them. It can do without.
    if (schema < OLDEST_SCHEMA) throw error
  })
}

/** A role that may not create schemas can use one that exists. */
async function makeSchema(run: Run, schema: string): Promise<void> {
  const [found] = await run(unnamed(`SELECT to_regnamespace('${schema}') IS NOT NULL AS present`))
  if (found!['present'] !== true) await run(unnamed(`CREATE SCHEMA "${schema}"`))
  await run(unnamed('CREATE TABLE IF NOT EXISTS @.store_version (version int NOT NULL)'))
  await run(unnamed('INSERT INTO @.store_version SELECT 0 WHERE NOT EXISTS (SELECT FROM @.store_version)'))
}

/** Without a name the connection does not keep it prepared, and it may be several commands. */
export const unnamed = (text: string) => ({ name: '', text })

/** Where hosts hear that something has changed. */
export const channelOf = (schema: string): string => `bulkhead_${schema}`
