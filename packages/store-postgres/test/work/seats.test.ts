import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SeatListener } from '@bulkhead/contract'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { openPostgresStore } from '../../src/index.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/seated-host.ts', import.meta.url))
const LISTENER: SeatListener = { onGate() {}, onRevision() {}, onLost() {}, onGone() {}, onFault() {} }
const INFO = { pid: process.pid, machine: 'test', version: '1', workspace: '/a', rules: '' }

describe('a host that stands still', needs('PostgreSQL'), () => {
  it('is taken over with what it began, and starts nothing when it goes on', async () => {
    const schema = newSchema()
    const server = await sharedPostgres()
    const url = server.url(schema)
    const store = await openPostgresStore({ url }, { calmMs: 300, beatMs: 100 })
    const seat = await store.work!.join({ ...INFO, id: 'judge' }, LISTENER)
    const child = spawn(process.execPath, [FIXTURE, url], { stdio: ['pipe', 'pipe', 'inherit'] })
    // Also if the test fails: a process that stands still would keep the output of the run open.
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next() as { value: string }).value) as object
    expect(await next()).toEqual({ ready: true })
    child.stdin.write('one\n')
    expect(await next()).toEqual({ callId: 'one', started: 'started' })
    expect(await store.work!.isGone('child')).toBe(false)

    child.kill('SIGSTOP')
    const admin = new pg.Client(url)
    await admin.connect()
    const old = `UPDATE ${schema}.heartbeat SET at = at - interval '1 hour' WHERE seat = 'child'`
    await admin.query(old)
    // A host that has just joined, or was cut off, judges no other.
    const newcomer = await openPostgresStore({ url }, { calmMs: 3_600_000 })
    const newSeat = await newcomer.work!.join({ ...INFO, id: 'newcomer' }, LISTENER)
    expect(await newSeat.takeOver('child')).toBeUndefined()
    await newSeat.leave()
    await newcomer.close()
    await expect.poll(() => store.work!.isGone('child')).toBe(true)
    const taken = await seat.takeOver('child')
    expect(taken).toMatchObject([{ callId: 'one', begun: [{ what: 'acts for one' }] }])

    child.kill('SIGCONT')
    child.stdin.write('two\n')
    const said = [await next(), await next()]
    expect(said).toContainEqual({ lost: true })
    expect(said).toContainEqual({ callId: 'two', started: 'seat-lost' })
    await seat.discard('child')
    expect((await store.work!.hosts()).map(({ id }) => id)).toEqual(['judge'])
    await admin.end()
    await store.close()
  })

  it('a call whose end the server did not take is no open call when it answers again', async () => {
    const schema = newSchema()
    const url = (await sharedPostgres()).url(schema)
    const store = await openPostgresStore({ url }, { statementMs: 500, beatMs: 50 })
    const refused = Promise.withResolvers<unknown>()
    const seat = await store.work!.join({ ...INFO, id: 'a' }, { ...LISTENER, onFault: refused.resolve })
    const origin = { layer: 'global', extension: 'e', version: '1', digest: '' } as const
    const call = seat.open({ terms: { sessionId: 's', tool: 't', origin, effects: 'once' }, callId: 'one' })
    await call.start({ at: 1, revision: undefined, isInline: true })
    const admin = new pg.Client(url)
    await admin.connect()
    await admin.query(`BEGIN; LOCK TABLE ${schema}.open_call`)
    call.end()
    await refused.promise
    await admin.query('COMMIT')
    await admin.end()
    await expect.poll(async () => (await store.work!.hosts())[0]!.calls).toEqual([])
    await store.close()
  })

  it('a call that ends while it starts leaves no entry', async () => {
    const store = await openPostgresStore({ url: (await sharedPostgres()).url(newSchema()) })
    const seat = await store.work!.join({ ...INFO, id: 'a' }, LISTENER)
    const origin = { layer: 'global', extension: 'e', version: '1', digest: '' } as const
    const terms = { sessionId: 's', tool: 't', effects: 'none', origin } as const
    await Promise.all(Array.from({ length: 50 }, async (_, n) => {
      const entry = seat.open({ terms, callId: String(n) })
      const started = entry.start({ at: 1, revision: undefined, isInline: false })
      entry.end()
      await started
    }))
    await seat.settled()
    expect((await store.work!.hosts())[0]!.calls).toEqual([])
    await store.close()
  })
})
