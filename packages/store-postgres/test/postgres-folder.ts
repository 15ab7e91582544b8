import { existsSync } from 'node:fs'
import pg from 'pg'
import type { Store } from '@bulkhead/contract'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../src/index.ts'

/** The URL of a new, empty store on the server of this process. */
export const newUrl = async (): Promise<string> => (await sharedPostgres()).url(newSchema())

export const openNew = async (options: Partial<PostgresStoreOptions> = {}): Promise<Store> =>
  openPostgresStore({ url: await newUrl(), ...options })

/** Schemas that no test uses any more, without rows. To make their tables again takes ten times as long. */
const emptied: string[] = []

/** A schema without tables, or with empty ones: a store is new in both. */
export const emptySchema = (): string => emptied.pop() ?? newSchema()

/** Removes all rows of a store that is closed, so that the next test has it. */
export async function giveBack(schema: string): Promise<void> {
  const client = new pg.Client((await sharedPostgres()).url().replace(/\?.*/, ''))
  await client.connect()
  await client.query(`
    SET session_replication_role = replica;
    DO $$ DECLARE one regclass; BEGIN
      FOR one IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
        AND relname NOT IN ('store_version', 'version')
        AND relnamespace IN (to_regnamespace('${schema}'), to_regnamespace('${schema}_jobs'))
      LOOP EXECUTE 'DELETE FROM ' || one; END LOOP;
    END $$;
    INSERT INTO ${schema}.gate DEFAULT VALUES`)
  await client.end()
  emptied.push(schema)
}

const schemas = new Map<string, string>()

/** One store for each folder, as `verifyStore` wants it. It removes the folders whose stores it has closed. */
export async function openAt({ folder }: { readonly folder: string }): Promise<Store> {
  if (!schemas.has(folder)) {
    for (const [other, schema] of schemas) {
      if (existsSync(other)) continue
      schemas.delete(other)
      await giveBack(schema)
    }
    schemas.set(folder, emptySchema())
  }
  return openPostgresStore({ url: (await sharedPostgres()).url(schemas.get(folder)) })
}
