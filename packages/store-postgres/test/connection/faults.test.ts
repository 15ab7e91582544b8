import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { PostgresProxy } from '../../../../scripts/postgres/proxy.ts'
import { newSchema, sharedPostgres, type PostgresServer } from '../../../../scripts/postgres/server.ts'
import { openPostgresStore, postgresStatus } from '../../src/index.ts'

const SHORT = { connectMs: 500, statementMs: 300, patienceMs: 300 }

/** What an attempt to open a store throws. */
const faultOf = (url: string): Promise<Error & { readonly data?: object }> =>
  openPostgresStore({ url }, SHORT).then(() => { throw new Error('It opened.') }, (error: Error) => error)

describe('a server that cannot be used', needs('PostgreSQL'), () => {
  let folder: string
  beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-secrets-')) })
  afterAll(() => rmSync(folder, { recursive: true }))
  const secret = (text: string, mode = 0o600): string => {
    const path = join(folder, `secret-${Math.random()}`)
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }

  it('a password is in no error, whatever is wrong', async () => {
    const { port, password, url } = await sharedPostgres()
    const wrong = 'Tr0ub4dor'
    const urls = [
      `postgres://postgres:${wrong}@127.0.0.1:${port}/postgres`, `postgres://postgres:${wrong}@127.0.0.1:1/postgres`,
      `postgres://nobody:${wrong}@127.0.0.1:${port}/postgres?sslmode=require`,
      `postgres://postgres:${wrong}@no-such-host.invalid/postgres?sslmode=disable`,
      `postgres://postgres:${password}@127.0.0.1:${port}/${wrong}`.replace(wrong, 'no-such-database'),
      `postgres://postgres@127.0.0.1:${port}/postgres?passwordfile=${secret(wrong)}`,
      url('x').replace('schema=x', 'schema=x&sslrootcert=/no/such/file&sslmode=verify-ca'),
    ]
    for (const one of urls) {
      const error = await faultOf(one)
      expect(error).toMatchObject({ code: 'StoreUnavailable', data: { reason: expect.any(String) as unknown } })
      expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(new RegExp(`${wrong}|${password}`))
    }
  })

  it('names the reason of a refusal', async () => {
    const { port, password } = await sharedPostgres()
    const reasons = await Promise.all([
      faultOf(`postgres://postgres:wrong@127.0.0.1:${port}/postgres`),
      faultOf(`postgres://postgres:${password}@127.0.0.1:${port}/none`),
      faultOf('postgres://postgres:x@127.0.0.1:1/postgres'),
      faultOf(`postgres://postgres@127.0.0.1:${port}/postgres?passfile=${secret('', 0o644)}`),
      faultOf(`postgres://postgres@127.0.0.1:${port}/postgres?passwordfile=${folder}/none`),
    ])
    expect(reasons.map(({ data }) => (data as { reason: string }).reason))
      .toEqual(['denied', 'denied', 'unreachable', 'denied', 'denied'])
  })

  it('reads a password from a file, as it is or by server', async () => {
    const { port, password } = await sharedPostgres()
    const files = [
      `passwordfile=${secret(`${password}\n`)}`,
      `passfile=${secret(`# servers\nother:*:*:*:x\n127.0.0.1:${port}:*:postgres:${password}\n`)}`,
    ]
    for (const file of files) {
      const status = await postgresStatus(`postgres://postgres@127.0.0.1:${port}/postgres?schema=none&${file}`)
      expect(status).toMatchObject({ schema: 0 })
      expect(status.url).not.toContain(password)
    }
  })

  it('leaves no connection open if the file of the password is missing', async () => {
    const { port } = await sharedPostgres()
    const open = new Set<Socket>()
    // It keeps a connection that the server gives up after a minute.
    const relay = createServer((client) => {
      open.add(client)
      client.on('close', () => open.delete(client)).on('error', () => undefined)
      client.pipe(connect(port, '127.0.0.1').on('error', () => undefined)).pipe(client, { end: false })
    }).listen(0, '127.0.0.1')
    await once(relay, 'listening')
    const place = `127.0.0.1:${(relay.address() as AddressInfo).port}`
    expect(await faultOf(`postgres://postgres@${place}/postgres?passwordfile=${folder}/none`))
      .toMatchObject({ data: { reason: 'denied' } })
    await expect.poll(() => open.size).toBe(0)
    relay.close()
  })

  it('gives up on a server that accepts a connection and says nothing', async () => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const error = await faultOf(`postgres://me:x@127.0.0.1:${(server.address() as AddressInfo).port}/x`)
    expect(error).toMatchObject({ code: 'StoreUnavailable', data: { reason: 'unreachable' } })
    for (const socket of sockets) socket.destroy()
    server.close()
  })
})

describe('a server that goes and comes back', needs('PostgreSQL'), () => {
  let server: PostgresServer
  beforeAll(async () => { server = await sharedPostgres() })
  // Other tests use it, too.
  afterAll(async () => {
    await server.resume()
    await server.restart()
  })

  it('what must be recorded is refused while it is gone, and recorded again once it is back', async () => {
    await using store = await opened(server)
    await store.append('first')
    await server.stop()
    await expect(store.append('lost')).rejects.toMatchObject({
      code: 'StoreUnavailable', data: { reason: 'unreachable' },
    })
    await expect(store.read('state', 'a')).rejects.toMatchObject({ code: 'StoreUnavailable' })
    await server.restart()
    await expect.poll(() => store.append('second').catch(() => 0)).toBe(2)
  })

  it('a short restart is not seen by operations', async () => {
    await using store = await opened(server, { ...SHORT, patienceMs: 10_000 })
    await store.write('state', 'a', 0)
    const restarted = server.restart()
    const positions = []
    for (let n = 1; n <= 50; n++) {
      await store.update('state', 'a', (value) => Number(value) + 1)
      positions.push(await store.append({ n }))
    }
    await restarted
    expect(await store.read('state', 'a')).toBe(50)
    expect(positions).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })

  it('connections that are cut in the middle of statements lose and repeat nothing', async () => {
    const schema = newSchema()
    await using store = await opened(server, { ...SHORT, patienceMs: 10_000 }, schema)
    await using other = await opened(server, SHORT, schema)
    const { default: pg } = await import('pg')
    const admin = new pg.Client(server.url())
    await admin.connect()
    const done = new AbortController()
    let cuts = 0
    const cutting = (async () => {
      while (!done.signal.aborted) {
        const { rowCount } = await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND application_name = 'bulkhead' AND state = 'active'`)
        cuts += rowCount ?? 0
        // On a busy machine, a statement needs some time without.
        await pause(20)
      }
    })()
    let n = 0
    const isEnough = () => n >= 30 && cuts >= 3
    try {
      await store.write('state', 'count', 0)
      while (!isEnough()) {
        n++
        await store.append({ n })
        await store.update('state', 'count', (value) => Number(value) + 1)
        expect(n).toBeLessThan(10_000)
      }
    } finally {
      done.abort()
      await cutting
      await admin.end()
    }
    await other.append({ n: n + 1 })
    const records = (await store.records()).map(({ record }) => (record as { n: number }).n)
    expect(records).toEqual(Array.from({ length: n + 1 }, (_, index) => index + 1))
    expect(await store.read('state', 'count')).toBe(n)
  })

  it('a record whose answer was lost is there once', async () => {
    const proxy = await PostgresProxy.start(server.port)
    const url = server.url(newSchema()).replace(`:${server.port}/`, `:${proxy.port}/`)
    const store = await openPostgresStore({ url }, { patienceMs: 10_000 })
    await store.append({ n: 1 })
    const lost = proxy.cutAnswerTo('audit_append')
    expect(await store.append({ n: 2 })).toBe(2)
    await lost
    expect(await store.append({ n: 3 })).toBe(3)
    await store.close()
    proxy.close()
  })

  it('nothing hangs while the server stands still, and everything works when it goes on', async () => {
    await using store = await opened(server)
    await store.write('state', 'a', 1)
    await server.pause()
    const faults = await Promise.allSettled([
      store.read('state', 'a'), store.write('state', 'a', 2), store.append('x'), store.list('state'),
    ])
    await server.resume()
    expect(faults.map((one) => one.status === 'rejected' ? (one.reason as { code: string }).code : one.value))
      .toEqual(['StoreUnavailable', 'StoreUnavailable', 'StoreUnavailable', 'StoreUnavailable'])
    await expect.poll(() => store.read('state', 'a').catch(() => 0)).toBeGreaterThan(0)
  })
})

/** A store that is closed at the end of its block. */
async function opened(server: PostgresServer, times: typeof SHORT = SHORT, schema = newSchema()) {
  const store = await openPostgresStore({ url: server.url(schema) }, times)
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
