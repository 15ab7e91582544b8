import { storeError } from '@bulkhead/store/records'
import { statement, type Database, type Row, type Run } from './connection/database.ts'
import { HOSTS } from './migrations/hosts.ts'
import { WORKERS } from './migrations/workers.ts'

/** The first version with everything that the statements use. */
const OLDEST_SERVER = 15

/**
 * Forward only. A schema of version N has had the first N of these. A published migration never changes, and a host of
 * the version before must be able to go on: hosts are replaced one after the other.
 */
const MIGRATIONS: readonly string[] = [HOSTS, WORKERS]

export const SCHEMA_VERSION = MIGRATIONS.length

const SERVER = statement('server', `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
    pg_encoding_to_char(encoding) AS encoding, pg_is_in_recovery() AS standby,
    to_regclass('@.store_version') IS NOT NULL AS present
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
  const { version, number, encoding, standby, present } = row!
  const { shown } = database.url
  const refuse = (what: string) => storeError('server', `The store ${shown} cannot be used: ${what}`, { data: { store: shown } })
  if (Number(number) < OLDEST_SERVER * 10_000) {
    throw refuse(`its server is PostgreSQL ${String(version)}. Use ${OLDEST_SERVER} or newer.`)
  }
  if (encoding !== 'UTF8') throw refuse(`its database has the encoding ${String(encoding)}. Create one with UTF8.`)
  if (standby === true) throw refuse('its server is a standby. Name the primary server.')
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

/** Held while tables are made: "BKHD". */
const LOCK = 0x424b4844

/** Does work that changes tables while no other host does. */
export const alone = <T>(database: Database, work: (run: Run) => Promise<T>): Promise<T> =>
  database.transaction(async (run) => {
    await run(unnamed(`SELECT pg_advisory_xact_lock(${LOCK}, hashtext('${database.url.schema}'))`))
    return work(run)
  }, true)

/** Brings the tables to this version. One host does it, and the others wait. Resolves with the versions before and after. */
export async function migrate(database: Database, migrations = MIGRATIONS): Promise<readonly [from: number, to: number]> {
  const { schema } = database.url
  return alone(database, async (run) => {
    await makeSchema(run, schema)
    const from = versionIn(await run(unnamed('SELECT version FROM @.store_version')))
    refuseNewer(database, from)
    for (const [index, step] of migrations.entries()) {
      if (index < from) continue
      await run(unnamed(step.replaceAll('@#', channelOf(schema))))
    }
    if (from < migrations.length) await run(unnamed(`UPDATE @.store_version SET version = ${migrations.length}`))
    return [from, Math.max(from, migrations.length)] as const
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

/** Where hosts are told that something has changed. */
export const channelOf = (schema: string): string => `bulkhead_${schema}`
