import { BulkheadError, STORE_COLLECTIONS, type Store } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { verifyAudit } from '../src/index.ts'

/** Tests for every store. `open` returns an empty one. */
export function testStoreBehaviour(open: () => Promise<Store>): void {
  it('returns a copy of the value at the time of the write', async () => {
    const store = await open()
    const value = { list: [1, 2] }
    const written = store.write('state', 'weather', value)
    value.list.push(3)
    await written
    const first = (await store.read('state', 'weather')) as { list: number[] }
    expect(first).toEqual({ list: [1, 2] })
    first.list.push(4)
    expect(await store.read('state', 'weather')).toEqual({ list: [1, 2] })
  })

  it.each<[string, Json]>([
    ['null', null], ['false', false], ['zero', 0], ['an empty text', ''], ['a long text', 'æ🚢\0'.repeat(20_000)],
    ['a small number', 5e-324], ['nesting', { a: [{ b: [[]] }, {}] }],
    ['a key like a method', { constructor: 1, toString: 2 }],
  ])('keeps %s as it is', async (_, value) => {
    const store = await open()
    await store.write('paused', 'it', value)
    await store.append(value)
    expect(await store.read('paused', 'it')).toEqual(value)
    expect(await store.list('paused')).toEqual([{ key: 'it', value }])
    expect(await store.records()).toMatchObject([{ position: 1, record: value }])
  })

  it('returns members in sorted order', async () => {
    const store = await open()
    await store.write('state', 'it', { b: 1, a: { d: 1, c: 2 } })
    expect(JSON.stringify(await store.read('state', 'it'))).toBe('{"a":{"c":2,"d":1},"b":1}')
  })

  it('separates collections and returns undefined for missing keys', async () => {
    const store = await open()
    for (const collection of STORE_COLLECTIONS) await store.write(collection, 'a', collection)
    for (const collection of STORE_COLLECTIONS) expect(await store.read(collection, 'a')).toBe(collection)
    await store.remove('state', 'a')
    await store.remove('state', 'a')
    expect(await store.read('state', 'a')).toBeUndefined()
    expect(await store.read('approval', 'a')).toBe('approval')
    expect(await store.list('state')).toEqual([])
  })

  it('lets one of several concurrent updates win', async () => {
    const store = await open()
    await store.write('paused', 'a', 'free')
    const claims = Array.from(
      { length: 20 }, (_, index) => store.update('paused', 'a', (value) => value === 'free' ? index : value),
    )
    const winners = await Promise.all(claims)
    expect(new Set(winners).size).toBe(1)
    expect(await store.read('paused', 'a')).toBe(winners[0])
  })

  it('updates a record atomically', async () => {
    const store = await open()
    const increase = (value: Json | undefined) => Number(value ?? 0) + 1
    expect(await store.update('approval', 'a', increase)).toBe(1)
    await Promise.all(Array.from({ length: 50 }, () => store.update('approval', 'a', increase)))
    expect(await store.read('approval', 'a')).toBe(51)
    expect(await store.update('approval', 'a', (value) => value)).toBe(51)
    expect(await store.update('approval', 'a', () => undefined)).toBeUndefined()
    expect(await store.list('approval')).toEqual([])
    expect(await store.update('approval', 'a', (value) => value)).toBeUndefined()
    await store.write('approval', 'a', 1)
    await expect(store.update('approval', 'a', () => { throw new BulkheadError('NotFound', 'no') }))
      .rejects.toMatchObject({ code: 'NotFound' })
    expect(await store.read('approval', 'a')).toBe(1)
    await expect(store.update('approval', 'a', () => Number.NaN)).rejects.toMatchObject({ code: 'StoreUnavailable' })
  })

  it('increments the approval revision for changes of approvals only', async () => {
    const store = await open()
    const seen = new Set([store.approvalRevision!()])
    const changes = [
      () => store.write('approval', 'a', 1), () => store.write('approval', 'a', 2),
      () => store.update('approval', 'a', () => 3),
      () => store.remove('approval', 'a'), () => store.update('approval', 'b', () => 1),
    ]
    for (const change of changes) {
      await change()
      seen.add(store.approvalRevision!())
    }
    expect(seen.size).toBe(changes.length + 1)
    const before = store.approvalRevision!()
    await store.write('call', 'a', 1)
    await store.remove('call', 'a')
    await store.append({})
    expect(store.approvalRevision!()).toBe(before)
    await store.close()
    expect(() => store.approvalRevision!()).toThrow(expect.objectContaining({ code: 'StoreUnavailable' }))
  })

  it('lists records by prefix in key order', async () => {
    const store = await open()
    const keys = ['b/2', 'a/1', 'b/1', '__proto__', 'b', 'b/', 'b0', '', 'b/\0', '\u{ff5e}', '\u{1f6a2}', '%', '_']
    for (const key of keys) await store.write('approval', key, key)
    expect((await store.list('approval', 'b/')).map((record) => record.key)).toEqual(['b/', 'b/\0', 'b/1', 'b/2'])
    expect((await store.list('approval')).map((record) => record.key)).toEqual(keys.toSorted())
    expect(await store.list('approval', '\u{1f6a2}')).toEqual([{ key: '\u{1f6a2}', value: '\u{1f6a2}' }])
    expect(await store.list('approval', '%')).toEqual([{ key: '%', value: '%' }])
  })

  it('numbers audit records from 1 and returns pages', async () => {
    const store = await open()
    const positions: number[] = []
    for (const record of ['one', 'two', 'three']) positions.push(await store.append(record))
    expect(positions).toEqual([1, 2, 3])
    expect(await store.records(2, 1)).toMatchObject([{ position: 2, record: 'two' }])
    const pages: [from: number, limit: number, positions: number[]][] = [
      [0, Infinity, [1, 2, 3]], [-5, 2, [1, 2]], [1.5, 1.5, [2]], [2, 1e300, [2, 3]], [9, 1, []], [Infinity, 1, []],
      [1, 0, []],
      [1, -1, []], [Number.NaN, Number.NaN, []],
    ]
    for (const [from, limit, expected] of pages) {
      expect((await store.records(from, limit)).map((each) => each.position), `from ${from}, ${limit}`)
        .toEqual(expected)
    }
  })

  it('links each record to the previous ones and returns the end of the chain', async () => {
    const store = await open()
    expect(await verifyAudit(store)).toEqual({
      ok: true, records: 0, first: 0, before: '0'.repeat(64), last: 0, link: '0'.repeat(64),
    })
    for (const record of ['one', { b: 2, a: 1 }, 'one']) await store.append(record)
    const links = (await store.records()).map(({ link }) => link)
    expect(new Set(links).size).toBe(3)
    expect(await store.auditSpan()).toEqual({ first: 1, before: '0'.repeat(64), last: 3, link: links[2] })
    expect(await verifyAudit(store)).toEqual({
      ok: true, records: 3, first: 1, before: '0'.repeat(64), last: 3, link: links[2],
    })
    expect(await verifyAudit(store, { position: 2, link: links[1]! })).toMatchObject({ ok: true })
    expect(await verifyAudit(store, { position: 2, link: links[0]! })).toMatchObject({ ok: false, position: 2 })
    expect(await verifyAudit(store, { position: 4, link: links[0]! })).toMatchObject({ ok: false, position: 4 })
  })

  it('runs operations in the order of the calls, awaited or not', async () => {
    const store = await open()
    const seen = await Promise.all([
      store.read('state', 'a'), store.write('state', 'a', 1), store.read('state', 'a'),
      store.write('state', 'a', 2), store.append('x'),
      store.list('state'), store.remove('state', 'a'), store.read('state', 'a'), store.append('y'), store.records(),
    ])
    expect(seen).toMatchObject([
      undefined, undefined, 1, undefined, 1,
      [{ key: 'a', value: 2 }], undefined, undefined, 2, [{ position: 1, record: 'x' }, { position: 2, record: 'y' }],
    ])
  })

  it('completes pending operations on close and rejects later ones', async () => {
    const store = await open()
    const appended = store.append('last')
    const closed = store.close()
    await expect(store.append('too late')).rejects.toMatchObject({
      code: 'StoreUnavailable', data: { reason: 'closed' },
    })
    expect(await appended).toBe(1)
    await Promise.all([closed, store.close()])
    await store.close()
  })

  const cycle: Json[] = []
  cycle.push(cycle)
  const refused: [string, (store: Store) => Promise<unknown>][] = [
    ['an unknown collection', (store) => store.read('constructor' as 'state', 'a')],
    ['half of a surrogate pair in a key', (store) => store.write('state', '\ud83d', 1)],
    ['half of a surrogate pair in a prefix', (store) => store.list('state', '\ud83d')],
    ['a key that is too long', (store) => store.remove('state', 'k'.repeat(20_000))],
    ['a key that is not a string', (store) => store.read('state', 7 as unknown as string)],
    ['a value that is not JSON', (store) => store.write('state', 'a', { at: new Date(0) } as unknown as Json)],
    ['a value that contains itself', (store) => store.append(cycle)],
    ['a value that is too long', (store) => store.append('\n'.repeat(9_000_000))],
    ...(['read', 'remove', 'list'] as const).map((method): [string, (store: Store) => Promise<unknown>] => [
      `${method} after close`, async (store) => { await store.close(); await store[method]('state', 'a') },
    ]),
    ['write after close', async (store) => { await store.close(); await store.write('state', 'a', 1) }],
    ['update after close', async (store) => { await store.close(); await store.update('state', 'a', () => 1) }],
    ['records after close', async (store) => { await store.close(); await store.records() }],
  ]
  it.each(refused)('rejects %s with StoreUnavailable', async (_, act) => {
    await expect(act(await open())).rejects.toMatchObject({
      code: 'StoreUnavailable', data: { reason: expect.any(String) },
    })
  })
}
