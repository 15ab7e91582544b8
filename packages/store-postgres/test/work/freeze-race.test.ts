import type { SeatListener } from '@bulkhead/contract'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { openPostgresStore } from '../../src/index.ts'

const LISTENER: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const INFO = { id: 'a', pid: process.pid, machine: 'test', version: '1', workspace: '/a', rules: '' }
const ORIGIN = { layer: 'global', extension: 'e', version: '1.0.0', digest: 'd' } as const
const TERMS = { sessionId: 's', tool: 't', effects: 'none', origin: ORIGIN } as const

describe('a freeze that is under way', needs('PostgreSQL'), () => {
  it('holds up starts that began before it is committed, and refuses them then', async () => {
    const schema = newSchema()
    const url = (await sharedPostgres()).url(schema)
    const store = await openPostgresStore({ url })
    const seat = await store.work!.join(INFO, LISTENER)
    const admin = new pg.Client(url)
    const watcher = new pg.Client(url)
    await Promise.all([admin.connect(), watcher.connect()])
    await admin.query('BEGIN')
    const freeze = { since: 1, by: 'Ada' }
    await admin.query(`UPDATE ${schema}.gate SET frozen = $1, number = number + 1`, [JSON.stringify(freeze)])
    const starts = ['one', 'two', 'three'].map((callId) =>
      seat.open({ terms: TERMS, callId }).start({ at: 1, revision: undefined, isInline: false }))
    const started = Promise.race(starts)
    const waiting = async () => {
      const { rows } = await watcher.query(`SELECT 1 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%gate WHERE tenant = % FOR SHARE%'`)
      return rows.length
    }
    await expect.poll(() => Promise.race([waiting(), started])).toBeGreaterThan(0)
    await admin.query('COMMIT')
    expect(await Promise.all(starts)).toEqual(starts.map(() => ({ is: 'frozen', freeze })))
    expect((await store.work!.hosts())[0]!.calls).toEqual([])
    await Promise.all([admin.end(), watcher.end()])
    await store.close()
  })

  it('waits for a start that is under way', async () => {
    const schema = newSchema()
    const url = (await sharedPostgres()).url(schema)
    const store = await openPostgresStore({ url })
    const admin = new pg.Client(url)
    await admin.connect()
    await admin.query('BEGIN')
    await admin.query(`SELECT FROM ${schema}.gate FOR SHARE`)
    let isFrozen = false
    const freezing = store.work!.freeze({ by: 'Ada' }).then(() => { isFrozen = true })
    const waits = async () =>
      (await admin.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rows.length
    await expect.poll(waits).toBeGreaterThan(0)
    expect(isFrozen).toBe(false)
    await admin.query('COMMIT')
    await freezing
    await admin.end()
    await store.close()
  })
})
