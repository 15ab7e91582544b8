import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { migratePostgres, openPostgresStore, postgresStatus } from '../src/index.ts'

const GUIDE = new URL('../../../docs/guides/store.md', import.meta.url)

/** Runs statements as the owner of everything. */
async function asOwner(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client((await sharedPostgres()).url('x').replace(/\?.*/, ''))
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}

describe('the tables', needs('PostgreSQL'), () => {
  it('are made once by hosts that start at the same time', async () => {
    const url = (await sharedPostgres()).url(newSchema())
    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore({ url })))
    await Promise.all(stores.map((store, n) => store.write('state', String(n), n)))
    expect(await stores[0]!.list('state')).toHaveLength(4)
    await Promise.all(stores.map((store) => store.close()))
    expect(await migratePostgres(url)).toEqual({ from: 5, to: 5 })
  })

  it('of a newer version are refused, and not changed', async () => {
    const schema = newSchema()
    const url = (await sharedPostgres()).url(schema)
    expect(await migratePostgres(url)).toEqual({ from: 0, to: 5 })
    await asOwner(`UPDATE ${schema}.store_version SET version = 99`)
    for (const use of [() => openPostgresStore({ url }), () => postgresStatus(url), () => migratePostgres(url)]) {
      await expect(use()).rejects.toMatchObject({ code: 'StoreUnavailable', data: { reason: 'newer', version: 99 } })
    }
  })

  it('can be used by a role that may not make them', async () => {
    const schema = newSchema()
    const { port, url } = await sharedPostgres()
    const role = `role_${schema}`
    await asOwner(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`)
    const limited = `postgres://${role}:x@127.0.0.1:${port}/postgres?schema=${schema}`
    await expect(openPostgresStore({ url: limited })).rejects.toMatchObject({ data: { reason: 'denied' } })
    await migratePostgres(url(schema))
    // What the guide tells operators to run.
    const [, statements] = /^```sql\n(.*?)^```/ms.exec(readFileSync(GUIDE, 'utf8'))!
    await asOwner(statements!.replaceAll('SCHEMA bulkhead', `SCHEMA ${schema}`).replaceAll('TO bulkhead', `TO ${role}`))
    const store = await openPostgresStore({ url: limited })
    await store.write('approval', 'a', 1)
    expect(await store.append('one')).toBe(1)
    await store.close()
  })

  it('in a database of another encoding are refused', async () => {
    const { password, port } = await sharedPostgres()
    await asOwner("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    await expect(openPostgresStore({ url: `postgres://postgres:${password}@127.0.0.1:${port}/latin` }))
      .rejects.toMatchObject({
        data: { reason: 'server' }, message: expect.stringMatching(/encoding LATIN1/) as unknown,
      })
  })
})
