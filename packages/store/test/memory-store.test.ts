import { STORE_COLLECTIONS, type Json } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../src/index.ts'

describe('the memory store', () => {
  it('gives back what was written, as a copy', async () => {
    const store = createMemoryStore()
    const value = { list: [1, 2] }
    await store.write('state', 'weather', value)
    value.list.push(3)
    const first = (await store.read('state', 'weather')) as { list: number[] }
    expect(first).toEqual({ list: [1, 2] })
    first.list.push(4)
    expect(await store.read('state', 'weather')).toEqual({ list: [1, 2] })
  })

  it('keeps collections apart and knows what is absent', async () => {
    const store = createMemoryStore()
    await store.write('state', 'a', 1)
    expect(await store.read('approval', 'a')).toBeUndefined()
    await store.remove('state', 'a')
    await store.remove('state', 'a')
    expect(await store.read('state', 'a')).toBeUndefined()
    expect(STORE_COLLECTIONS).toEqual(['state', 'approval', 'paused', 'trust'])
  })

  it('lists in the order of keys, by prefix', async () => {
    const store = createMemoryStore()
    for (const key of ['b/2', 'a/1', 'b/1', '__proto__']) await store.write('approval', key, key)
    expect(await store.list('approval', 'b/')).toEqual([{ key: 'b/1', value: 'b/1' }, { key: 'b/2', value: 'b/2' }])
    expect((await store.list('approval')).map((record) => record.key)).toEqual(['__proto__', 'a/1', 'b/1', 'b/2'])
  })

  it('numbers the audit from 1 and pages through it', async () => {
    const store = createMemoryStore()
    const positions: number[] = []
    for (const record of ['one', 'two', 'three'] satisfies Json[]) positions.push(await store.append(record))
    expect(positions).toEqual([1, 2, 3])
    expect(await store.records(2, 1)).toEqual([{ position: 2, record: 'two' }])
    expect(await store.records()).toHaveLength(3)
    expect(await store.records(9)).toEqual([])
  })

  it.each([
    ['an unknown collection', async (store: ReturnType<typeof createMemoryStore>) => store.read('constructor' as 'state', 'a')],
    ['a closed store', async (store: ReturnType<typeof createMemoryStore>) => { await store.close(); await store.append(1) }],
  ])('rejects %s with StoreUnavailable', async (_, act) => {
    await expect(act(createMemoryStore())).rejects.toMatchObject({ code: 'StoreUnavailable' })
  })
})
