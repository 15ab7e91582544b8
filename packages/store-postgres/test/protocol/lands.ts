import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Store } from '@bulkhead/contract'
import { createMemoryStore, openSqliteStore } from '@bulkhead/store'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { openPostgresStore } from '../../src/open-postgres-store.ts'
import type { Land, Lands } from './model.ts'

const HOSTS = [0, 1, 2]

/** Three hosts in this process. */
export async function memoryLands(): Promise<Lands> {
  const store = createMemoryStore()
  return {
    hosts: HOSTS.map(() => ({ store, pid: () => process.pid })), calm: store, canOutlive: false,
    close: () => store.close(),
  }
}

/** A connection for each host. A process proves that it lives. */
export async function sqliteLands(): Promise<Lands> {
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-protocol-'))
  const stores: Store[] = []
  for (let n = 0; n <= HOSTS.length; n++) stores.push(await openSqliteStore({ file: join(folder, 'host.db') }))
  const [calm, ...own] = stores
  const lives = own.map(() => new Life())
  return {
    calm: calm!, canOutlive: false,
    hosts: own.map((store, index): Land => {
      const life = lives[index]!
      return { store, pid: () => life.pid(), judge: () => life.end() }
    }),
    async close() {
      await Promise.all(lives.map((life) => life.end()))
      for (const store of stores) await store.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** Stands for the process of a host. */
class Life {
  #child: ChildProcess | undefined

  pid(): number {
    this.#child ??= spawn('sleep', ['1000000'], { stdio: 'ignore' })
    return this.#child.pid!
  }

  async end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
}

/** Only the test writes heartbeats: it says who is late. */
const TIMES = { beatMs: 1_000_000, goneMs: 1_000, calmMs: -1 }

/** Between the look at the gate and the end of the statement there is time for others. */
const slowCalls = (schema: string): string => `
  CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(random() * 0.004); RETURN new; END';
  CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON ${schema}.open_call FOR EACH ROW EXECUTE FUNCTION ${schema}.wait()`

/** A proxy for each host, and one server. */
export async function postgresLands(): Promise<Lands> {
  const server = await sharedPostgres()
  const schema = newSchema()
  const url = server.url(schema)
  const calm = await openPostgresStore({ url }, TIMES)
  const admin = new pg.Client({ connectionString: `${url.slice(0, url.indexOf('?'))}` })
  await admin.connect()
  // No host is late for a server that has just started.
  await admin.query(`SELECT pg_sleep(greatest(0, ${TIMES.goneMs / 1000}
    - extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())))`)
  await admin.query(slowCalls(schema))
  const proxies = await Promise.all(HOSTS.map(() => PostgresProxy.start(server.port)))
  const stores = await Promise.all(proxies.map(({ port }) =>
    openPostgresStore({ url: url.replace(`:${server.port}/`, `:${port}/`) }, TIMES)))
  // A host that is not late is not late later, however long a step takes.
  const beat = async () => void await admin.query(`UPDATE ${schema}.heartbeat SET at = now() + interval '1 year'
    WHERE at > now() - interval '1 hour'`)
  const hosts = stores.map((store, index): Land => ({
    store, pid: () => process.pid, hold: (what) => proxies[index]!.hold(what), release: () => proxies[index]!.release(),
    cut: () => proxies[index]!.cut(),
    async judge(host) {
      await beat()
      await admin.query(`UPDATE ${schema}.heartbeat SET at = now() - interval '1 year' WHERE seat = $1`, [host])
    },
  }))
  return {
    hosts, calm, canOutlive: true,
    async close() {
      for (const store of [...stores, calm]) await store.close()
      for (const proxy of proxies) proxy.close()
      await admin.end()
    },
  }
}
