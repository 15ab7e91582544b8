// @module-tag long
import { join } from 'node:path'
import { openPostgresStore } from '@bulkhead/store-postgres'
import pg from 'pg'
import { expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { createHost } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import type { CallerTerms } from './fixtures/caller.ts'
import { Fleet, SHORT_LEASE_MS, WorkerProcess } from './fleet.ts'

const CALLER = join(import.meta.dirname, 'fixtures/caller.ts')

it('calls of a caller that was killed are settled by their notes, and their worker begins nothing more',
  needs('PostgreSQL'), async () => {
    await using fleet = await Fleet.open(SHORT_LEASE_MS)
    await using closing = new AsyncDisposableStack()
    const bank = await Bank.open()
    closing.defer(() => bank.close())
    writeFar(fleet.home, bank.place)
    const config = { ...IN_THREADS, extensions: { far: { runsOn: { labels: ['gpu'] } } } }
    const { workspace, home, url } = fleet
    const options = { workspace, home, cache: CACHE, trust: 'declined', env: {}, config } as const
    const first = await fleet.host(options)
    fleet.trustPackages(first)
    await first.close()
    const worker = fleet.worker({ ceiling: { net: { hosts: [bank.place] } } })
    await worker.until('ready')
    const acts = { id: 'acts', name: 'acts_twice', arguments: { url: bank.url, what: 'paid' } }
    const terms: CallerTerms =
      { url, times: {}, options, calls: [{ id: 'waits', name: 'waits', arguments: {} }, acts] }
    const acting = bank.hold('POST')
    const caller = new WorkerProcess([CALLER, JSON.stringify(terms)])
    closing.defer(async () => void await caller.end())
    await acting.arrived
    const store = await openPostgresStore({ url }, { calmMs: 100, beatMs: 200 })
    closing.defer(() => store.close())
    await expect.poll(async () => (await store.placements!.workers())[0]!.load).toBe(2)
    await caller.end()
    // It was silent for long.
    const client = new pg.Client(url.replace(/\?.*/, ''))
    await client.connect()
    const { searchParams } = new URL(url)
    await client.query(`UPDATE ${searchParams.get('schema')}.heartbeat SET at = at - interval '1 hour'`)
    await client.end()
    const next = await createHost({ ...options, store })
    closing.defer(async () => void await next.close())
    const ended: (readonly [string, string])[] = []
    // At its start, or as soon as it may judge others.
    next.on((event) => {
      if (event.type === 'ToolInvocationFailed') ended.push([event.callId, event.errorCode])
    })
    for (const { outcome } of await next.interruptedCalls()) ended.push([outcome.metadata.call_id, outcome.error.code])
    await expect.poll(() => ended.toSorted()).toEqual([['acts', 'OutcomeUnknown'], ['waits', 'CallInterrupted']])
    bank.release()
    const codes = () =>
      worker.lines.flatMap(({ error }) => (error as { readonly code: string } | undefined)?.code ?? [])
    await expect.poll(codes).toEqual(['LeaseLost', 'LeaseLost'])
    expect(bank.posts).toEqual(['first paid key-acts'])
    const session = await next.openSession({ mode: 'yolo' })
    expect(await session.call({ ...acts, id: 'again', idempotencyKey: 'key-acts' }))
      .toMatchObject({ error: { code: 'OutcomeUnknown' } })
  })
