import { BulkheadError } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { verifyAudit } from '@bulkhead/store'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { openPostgresStore } from '../../src/index.ts'
import { newUrl, openNew } from '../postgres-folder.ts'

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

describe('hosts on one server', needs('PostgreSQL'), () => {
  it('each have a chain of their own, and any of them verifies all', async () => {
    const url = await newUrl()
    const stores = await Promise.all(['a', 'b', 'c'].map((name) => openPostgresStore({ url: `${url}&name=${name}` })))
    await Promise.all(stores.flatMap((store, n) => numbers(10 * (n + 1)).map((at) => store.append({ at }))))
    const chains = await stores[0]!.chains!()
    const verdicts = await Promise.all(chains.map(async (chain) => [chain.name, await verifyAudit(chain)]))
    expect(verdicts).toMatchObject([
      ['a', { ok: true, records: 10 }], ['b', { ok: true, records: 20 }], ['c', { ok: true, records: 30 }],
    ])
    const [, second] = chains
    const { link } = (await second!.records(7, 1))[0]!
    expect(await second!.archive(7, link!, 'Ada')).toBe(21)
    expect(await verifyAudit(second!)).toMatchObject({ ok: true, first: 8, last: 21 })
    expect(await stores[1]!.auditSpan()).toMatchObject({ first: 8, before: link, last: 21 })
    await Promise.all(stores.map((store) => store.close()))
  })

  it('that change one record never lose a change', async () => {
    const url = await newUrl()
    const stores = await Promise.all(numbers(4).map(() => openPostgresStore({ url })))
    await Promise.all(numbers(100).map((n) =>
      stores[n % 4]!.update('outcome', 'count', (value) => Number(value ?? 0) + 1)))
    expect(await stores[0]!.read('outcome', 'count')).toBe(100)
    await Promise.all(stores.map((store) => store.close()))
  })

  it('decide by what another host has written since, and not by what they remember', async () => {
    const url = await newUrl()
    const [here, there] = [await openPostgresStore({ url }), await openPostgresStore({ url })]
    const keep = (value: Json | undefined) => value
    const seen: (Json | undefined)[] = []
    for (const next of [2, 3, undefined, 5]) {
      await here.update('outcome', 'a', () => 1)
      await there.update('outcome', 'a', () => next)
      seen.push(await here.update('outcome', 'a', keep))
      await here.update('outcome', 'a', () => 1)
      await there.update('outcome', 'a', () => next)
      // What is refused is the value of the other host, and not the own one.
      const refuse = (value: Json | undefined): Json => { throw new BulkheadError('NotFound', String(value)) }
      await expect(here.update('outcome', 'a', refuse)).rejects.toThrow(String(next))
    }
    expect(seen).toEqual([2, 3, undefined, 5])
    await Promise.all([here.close(), there.close()])
  })

  it('find a page in the middle of long groups', async () => {
    const store = await openNew()
    for (const _ of numbers(100)) {
      await store.appendAll!({
        forms: [{ same: {}, own: ['n'] }], rows: numbers(30).map((n) => `0,${n}`), texts: [],
      })
    }
    const page = await store.records(1_234, 100)
    expect(page.map(({ position }) => position)).toEqual(numbers(100).map((n) => n + 1_233))
    expect(await store.records()).toHaveLength(3_000)
    expect(await verifyAudit(store)).toMatchObject({ ok: true, records: 3_000 })
    await store.close()
  })

  it('adopt an audit only as it was', async () => {
    const [source, target] = [await openNew(), await openNew()]
    for (const n of numbers(3)) await source.append({ n })
    const rows = (await source.records()).map(({ position, record, link }) =>
      ({ position, count: 1, record: JSON.stringify(record), link: link! }))
    const start = { position: 0, link: '0'.repeat(64) }
    const changed = rows.with(1, { ...rows[1]!, record: '{"n":9}' })
    for (const wrong of [changed, rows.slice(1)]) {
      await expect(target.adopt!('x', start, wrong)).rejects.toMatchObject({ data: { reason: 'refused-value' } })
    }
    await target.adopt!('x', start, rows.slice(0, 2))
    await target.adopt!('x', start, rows.slice(2))
    const [chain] = await target.chains!()
    expect(await verifyAudit(chain!)).toMatchObject({ ok: true, records: 3, link: rows[2]!.link })
    await Promise.all([source.close(), target.close()])
  })
})
