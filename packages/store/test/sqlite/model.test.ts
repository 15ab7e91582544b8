import { STORE_COLLECTIONS, type Store } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { StoreFolder } from './store-folder.ts'

interface Model {
  readonly entries: Map<string, Map<string, Json>>
  readonly audit: Json[]
}

interface Real {
  store: Store
  readonly reopen: () => Promise<Store>
}

const collection = fc.constantFrom(...STORE_COLLECTIONS)
/** Few, so that operations collide, and unusual, to test order and prefixes. */
const key = fc.constantFrom('', 'a', 'a/', 'a/b', 'a\0', 'b', '__proto__', '\u{ff5e}', '\u{1f6a2}', '\u{1f6a2}a')
const value = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 })
  .map((any) => JSON.parse(JSON.stringify(any).replaceAll('__proto__', 'p')) as Json)

function entriesOf(model: Model, name: string): Map<string, Json> {
  return model.entries.getOrInsertComputed(name, () => new Map<string, Json>())
}

type Step = fc.AsyncCommand<Model, Real>
const step = (text: string, run: Step['run']): Step => ({ check: () => true, run, toString: () => text })
const at = (what: string, name: string, where: string) => `${what} ${name} ${JSON.stringify(where)}`

const steps = [
  fc.tuple(collection, key, value).map(([name, where, what]) =>
    step(at('write', name, where), async (model, { store }) => {
      await store.write(name, where, what)
      entriesOf(model, name).set(where, what)
    })),
  fc.tuple(collection, key).map(([name, where]) => step(at('remove', name, where), async (model, { store }) => {
    await store.remove(name, where)
    entriesOf(model, name).delete(where)
  })),
  fc.tuple(collection, key).map(([name, where]) => step(at('read', name, where), async (model, { store }) => {
    expect(await store.read(name, where)).toEqual(entriesOf(model, name).get(where))
  })),
  fc.tuple(collection, key, fc.constantFrom('keep', 'change', 'remove'), value).map(([name, where, how, what]) =>
    step(at(`update (${how})`, name, where), async (model, { store }) => {
      const entries = entriesOf(model, name)
      const next = how === 'keep' ? entries.get(where) : how === 'change' ? what : undefined
      expect(await store.update(name, where, (now) => how === 'keep' ? now : next)).toEqual(next)
      if (next === undefined) entries.delete(where)
      else entries.set(where, next)
    })),
  fc.tuple(collection, key).map(([name, prefix]) => step(at('list', name, prefix), async (model, { store }) => {
    const entries = entriesOf(model, name)
    const expected = [...entries.keys()].filter((each) => each.startsWith(prefix)).toSorted()
    expect(await store.list(name, prefix)).toEqual(expected.map((each) => ({ key: each, value: entries.get(each) })))
  })),
  fc.array(value, { maxLength: 5 }).map((records) =>
    step(`append ${records.length} at once`, async (model, { store }) => {
      const positions = await Promise.all(records.map((record) => store.append(record)))
      expect(positions).toEqual(records.map((record) => model.audit.push(record)))
    })),
  fc.tuple(fc.integer({ min: -1, max: 20 }), fc.integer({ min: 0, max: 9 })).map(([from, limit]) =>
    step(`records ${from} ${limit}`, async (model, { store }) => {
      const all = model.audit.map((record, index) => ({ position: index + 1, record }))
      const start = Math.max(from, 1) - 1
      expect((await store.records(from, limit)).map(({ link: _, ...entry }) => entry)).toEqual(
        all.slice(start, start + limit),
      )
    })),
  fc.constant(step('reopen', async (_, real) => {
    await real.store.close()
    real.store = await real.reopen()
  })),
]

it('a store behaves like a durable Map and array for any sequence of operations', async () => {
  await fc.assert(fc.asyncProperty(fc.commands(steps, { maxCommands: 40 }), async (commands) => {
    await using folder = new StoreFolder()
    const real: Real = { store: await folder.open(), reopen: () => folder.open() }
    await fc.asyncModelRun(() => ({ model: { entries: new Map(), audit: [] }, real }), commands)
  }), { numRuns: thoroughly(5, 100) })
})
