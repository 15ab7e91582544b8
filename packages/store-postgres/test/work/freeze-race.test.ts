import type { SeatListener, Store } from '@bulkhead/contract'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { openPostgresStore } from '../../src/index.ts'

const LISTENER: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const INFO = { id: 'a', pid: process.pid, machine: 'test', version: '1', workspace: '/a', rules: '' }
const ORIGIN = { layer: 'global', extension: 'e', version: '1.0.0', digest: 'd' } as const
const TERMS = { sessionId: 's', tool: 't', effects: 'none', origin: ORIGIN } as const

/** A store, and a client that holds a lock in a transaction. What is open closes with the test, also if it fails. */
class Held implements AsyncDisposable {
  readonly schema: string
  readonly store: Store
  readonly #admin: pg.Client
  /** Not the one in a transaction: there, the list of connections stays as it was first read. */
  readonly #watcher: pg.Client

  private constructor(schema: string, store: Store, admin: pg.Client, watcher: pg.Client) {
    this.schema = schema
    this.store = store
    this.#admin = admin
    this.#watcher = watcher
  }

  static async open(): Promise<Held> {
    const schema = newSchema()
    const url = (await sharedPostgres()).url(schema)
    const store = await openPostgresStore({ url })
    const [admin, watcher] = [new pg.Client(url), new pg.Client(url)]
    await Promise.all([admin.connect(), watcher.connect()])
    return new Held(schema, store, admin, watcher)
  }

  async lock(statement: string, values: readonly unknown[] = []): Promise<void> {
    await this.#admin.query('BEGIN')
    await this.#admin.query(statement, [...values])
  }

  async release(): Promise<void> {
    await this.#admin.query('COMMIT')
  }

  /** How many statements like this one wait for the lock. */
  async waiting(like = '%'): Promise<number> {
    const { rows } = await this.#watcher.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1", [like])
    return rows.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#admin.end(), this.#watcher.end()])
    await this.store.close()
  }
}

describe('a freeze that is under way', needs('PostgreSQL'), () => {
  it('holds up starts that began before it is committed, and refuses them then', async () => {
    await using held = await Held.open()
    const seat = await held.store.work!.join(INFO, LISTENER)
    const freeze = { since: 1, by: 'Ada' }
    await held.lock(`UPDATE ${held.schema}.gate SET frozen = $1, number = number + 1`, [JSON.stringify(freeze)])
    const starts = Promise.all(['one', 'two', 'three'].map((callId) =>
      seat.open({ terms: TERMS, callId }).start({ at: 1, revision: undefined, isInline: false })))
    await untilWaiting(() => held.waiting('%gate WHERE tenant = % FOR SHARE%'), starts)
    await held.release()
    expect(await starts).toEqual(['one', 'two', 'three'].map(() => ({ is: 'frozen', freeze })))
    expect((await held.store.work!.hosts())[0]!.calls).toEqual([])
  })

  it('leaves no call that has ended while its start waited', async () => {
    await using held = await Held.open()
    const seat = await held.store.work!.join(INFO, LISTENER)
    const calls = async () => (await held.store.work!.hosts())[0]!.calls.map(({ callId }) => callId)
    await held.lock(`SELECT FROM ${held.schema}.gate FOR UPDATE`)
    const entry = seat.open({ terms: TERMS, callId: 'ended' })
    const started = entry.start({ at: 1, revision: undefined, isInline: false })
    await untilWaiting(() => held.waiting(), started)
    entry.end()
    // One that comes and goes meanwhile: ends that were not held back are written by then.
    const other = seat.open({ terms: TERMS, callId: 'other' })
    await expect.poll(() => Promise.race([calls(), started])).toEqual(['other'])
    other.end()
    await expect.poll(calls).toEqual([])
    await held.release()
    expect(await started).toEqual({ is: 'started' })
    await expect.poll(calls).toEqual([])
  })

  it('waits for a start that is under way', async () => {
    await using held = await Held.open()
    await held.lock(`SELECT FROM ${held.schema}.gate FOR SHARE`)
    let isFrozen = false
    const freezing = held.store.work!.freeze({ by: 'Ada' }).then(() => { isFrozen = true })
    await untilWaiting(() => held.waiting(), freezing)
    expect(isFrozen).toBe(false)
    await held.release()
    await freezing
  })
})

/** Polls until the count is not 0. A failure of `work`, which waits for the lock, is that of the test. */
async function untilWaiting(count: () => Promise<number>, work: Promise<unknown>): Promise<void> {
  await expect.poll(() => Promise.race([count(), work])).toBeGreaterThan(0)
}
