import { BulkheadError, STORE_COLLECTIONS, type Store } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import { STORE_SPEC as SPEC, storeGroup } from './store-bench.ts'
import { settle, unlessRejected, unlessSame } from './verify.ts'

const VALUES: readonly Json[] = [
  null, false, 0, '', 5e-324, 'æ\u{1f6a2}\0'.repeat(20_000), { a: [{ b: [[]] }, {}] }, { constructor: 1, toString: 2 },
]
const KEYS = ['b/2', 'a/1', 'b/1', '__proto__', 'b', 'b/', 'b0', '', 'b/\0', '\u{ff5e}', '\u{1f6a2}', '%', '_']
const PREFIXES = [undefined, 'b/', '\u{1f6a2}', '%', 'c']
const UNSORTED: Json = { b: 1, a: { d: 1, c: 2 } }

const cycle: Json[] = []
cycle.push(cycle)
const HALF = '\ud83d'
const DATE = { at: new Date(0) } as unknown as Json
const REFUSED: readonly ((store: Store) => Promise<unknown>)[] = [
  (store) => store.read('constructor' as 'state', 'a'), (store) => store.write('state', HALF, 1),
  (store) => store.list('state', HALF), (store) => store.write('state', 'a', DATE), (store) => store.append(DATE),
  (store) => store.append(cycle), (store) => store.update('state', 'a', () => Number.NaN),
]

export const RECORDS = storeGroup([
  {
    id: 'store-values', level: 'must', spec: SPEC,
    statement: 'A record is read and listed as it was written: each JSON value.',
    why: 'State of extensions, approvals and paused questions are such values.',
    cure: 'Store the text of the JSON, or a type that keeps every number and every character.',
    async check({ fresh }) {
      const store = await fresh()
      const read: unknown[] = []
      for (const value of VALUES) {
        await store.write('paused', 'it', value)
        await store.append(value)
        read.push(await store.read('paused', 'it'), (await store.list('paused'))[0]?.value)
      }
      const records = (await store.records()).map(({ record }) => record)
      return unlessSame(read, VALUES.flatMap((value) => [value, value])) ?? unlessSame(records, VALUES, 'the audit')
    },
  },
  {
    id: 'store-copies', level: 'must', spec: SPEC,
    statement: 'The value at the time of the write is stored, and each read returns a copy.',
    why: 'A program goes on to change its own objects.',
    cure: 'Make the text of the value before the first await.',
    async check({ fresh }) {
      const store = await fresh()
      const value = { list: [1] }
      const written = store.write('state', 'it', value)
      value.list.push(2)
      await written
      const first = await store.read('state', 'it') as { readonly list: Json[] }
      const before = structuredClone(first)
      first.list.push(3)
      return unlessSame([before, await store.read('state', 'it')], [{ list: [1] }, { list: [1] }])
    },
  },
  {
    id: 'store-sorted', level: 'should', spec: SPEC,
    statement: 'The members of a value are sorted.',
    why: 'The same value then has the same text, in each store.',
    cure: 'Store canonicalJson of @bulkhead/kit.',
    async check({ fresh }) {
      const store = await fresh()
      await store.write('state', 'it', UNSORTED)
      return unlessSame(JSON.stringify(await store.read('state', 'it')), '{"a":{"c":2,"d":1},"b":1}')
    },
  },
  {
    id: 'store-collections', level: 'must', spec: SPEC,
    statement: 'Collections are separate. A missing record is undefined, and may be removed.',
    why: 'An approval must not be taken for the state of an extension.',
    cure: 'Make the collection a part of the key.',
    async check({ fresh }) {
      const store = await fresh()
      for (const name of STORE_COLLECTIONS) await store.write(name, 'a', name)
      const read = await Promise.all(STORE_COLLECTIONS.map((name) => store.read(name, 'a')))
      for (let times = 0; times < 2; times++) await store.remove('state', 'a')
      return unlessSame(read, STORE_COLLECTIONS) ?? unlessSame(
        [await store.read('state', 'a'), await store.list('state'), await store.read('approval', 'a')],
        [undefined, [], 'approval'], 'after a removal it',
      )
    },
  },
  {
    id: 'store-list', level: 'must', spec: SPEC,
    statement: 'list returns the records whose key begins with the prefix, in the order in which JavaScript compares.',
    why: 'Keys begin with the name of a session or an extension.',
    cure: 'Sort by UTF-16 unit, and treat no character of a prefix as a pattern.',
    async check({ fresh }) {
      const store = await fresh()
      for (const key of KEYS) await store.write('approval', key, key)
      const lists = await Promise.all(PREFIXES.map((prefix) => store.list('approval', prefix)))
      const expected = PREFIXES.map((prefix) =>
        KEYS.filter((key) => key.startsWith(prefix ?? '')).toSorted().map((key) => ({ key, value: key })))
      return firstOf(lists.keys(), (index) =>
        unlessSame(lists[index], expected[index], `the list of "${PREFIXES[index] ?? ''}"`))
    },
  },
  {
    id: 'store-order', level: 'must', spec: SPEC,
    statement: 'Operations take effect in the order of the calls, awaited or not.',
    why: 'A host writes without waiting, and reads what it wrote.',
    cure: 'Queue the operations of a store.',
    async check({ fresh }) {
      const store = await fresh()
      const [read, , second, , listed, , last, , audit] = await Promise.all([
        store.read('state', 'a'), store.write('state', 'a', 1), store.read('state', 'a'), store.write('state', 'a', 2),
        store.list('state'), store.remove('state', 'a'), store.read('state', 'a'),
        Promise.all([store.append('x'), store.append('y')]), store.records(),
      ])
      return unlessSame(
        [read, second, listed, last, audit.map(({ record }) => record)],
        [undefined, 1, [{ key: 'a', value: 2 }], undefined, ['x', 'y']],
      )
    },
  },
  {
    id: 'store-refuses', level: 'must', spec: SPEC,
    statement: 'A value that is not JSON, and a key that is not a valid string, is refused with StoreUnavailable.',
    why: 'It would be read as something else.',
    cure: 'Check values with findJsonFault of @bulkhead/kit, and keys with isWellFormed.',
    async check({ fresh, patienceMs }) {
      const store = await fresh()
      for (const act of REFUSED) {
        const evidence = unlessRejected(await settle(() => act(store), { patienceMs }), 'StoreUnavailable')
        if (evidence) return `${String(act)}: ${evidence}`
      }
      return unlessSame([await store.list('state'), await store.records()], [[], []], 'afterwards the store')
    },
  },
])

const increase = (value: Json | undefined): number => Number(value ?? 0) + 1
const keep = (value: Json | undefined): Json | undefined => value

export const UPDATES = storeGroup([
  {
    id: 'store-update', level: 'must', spec: SPEC,
    statement: 'update stores what the function returns, or removes the record for undefined, and resolves with it.',
    why: 'A host changes records that other hosts change as well.',
    cure: 'Pass the stored value or undefined, and return what is stored afterwards.',
    async check({ fresh }) {
      const store = await fresh()
      const resolved: unknown[] = []
      for (const change of [increase, increase, keep, () => undefined, keep]) {
        resolved.push(await store.update('approval', 'a', change))
      }
      return unlessSame([resolved, await store.list('approval')], [[1, 2, 2, undefined, undefined], []])
    },
  },
  {
    id: 'store-update-throws', level: 'must', spec: SPEC,
    statement: 'If the function of an update throws, nothing changes, and the update rejects with the same error.',
    why: 'That is how a host refuses a change that came too late.',
    cure: 'Roll back, and pass the error on.',
    async check({ fresh, patienceMs }) {
      const store = await fresh()
      await store.write('approval', 'a', 1)
      const error = new BulkheadError('NotFound', 'Refused by the verification.')
      const refused = await settle(() => store.update('approval', 'a', () => { throw error }), { patienceMs })
      return unlessSame(refused.error, error) ?? unlessSame(await store.read('approval', 'a'), 1)
    },
  },
  {
    id: 'store-update-atomic', level: 'must', spec: SPEC,
    statement: 'Updates of one record follow each other, also from two hosts.',
    why: 'Two hosts that claim the same call must not both run it.',
    cure: 'Read and write in one transaction that locks the record.',
    async check({ shared }) {
      const stores = await shared()
      await Promise.all(Array.from({ length: 40 }, (_, index) => stores[index % 2]!.update('call', 'a', increase)))
      const claims = await Promise.all(Array.from({ length: 20 }, (_, index) =>
        stores[index % 2]!.update('paused', 'a', (value) => value ?? index)))
      return unlessSame(await stores[0].read('call', 'a'), 40, 'the count of 40 updates')
        ?? unlessSame(claims, claims.map(() => claims[0]!), 'the winner of each claim')
    },
  },
  {
    id: 'store-approval-revision', level: 'must', spec: SPEC,
    statement: 'The revision of `work` changes with each write or removal of an approval by any host, and with nothing else.',
    why: 'A host keeps approvals in memory, and must see that one was taken back.',
    cure: 'Count changes of approvals in the store.',
    async check({ shared }) {
      const [here, there] = await shared()
      if (!here.work) return undefined
      const { work } = here
      const changes: readonly (() => Promise<unknown>)[] = [
        () => here.write('approval', 'a', 1), () => there.write('approval', 'a', 2),
        () => here.update('approval', 'a', () => 3), () => there.remove('approval', 'a'),
        () => there.update('approval', 'b', () => 1),
      ]
      const seen = new Set([await work.revision()])
      for (const change of changes) {
        await change()
        seen.add(await work.revision())
      }
      const before = await work.revision()
      await there.write('call', 'a', 1)
      await there.remove('call', 'a')
      await there.append({})
      return unlessSame(seen.size, changes.length + 1, 'the number of revisions')
        ?? unlessSame(await work.revision(), before, 'the revision after other writes')
    },
  },
])
