import { isAbsolute } from 'node:path'
import type { Store } from '@bulkhead/contract'
import { STORE_SPEC as SPEC, storeGroup } from './store-bench.ts'
import { settle, unlessDone, unlessRejected, unlessSame } from './verify.ts'

const USES: readonly ((store: Store) => unknown)[] = [
  (store) => store.read('state', 'a'), (store) => store.write('state', 'a', 1), (store) => store.remove('state', 'a'),
  (store) => store.update('state', 'a', () => 1), (store) => store.list('state'), (store) => store.append(1),
  (store) => store.records(), (store) => store.auditSpan(),
]
/** Those that a store need not have. */
const FURTHER_USES: readonly ((store: Store) => unknown)[] = [
  ({ changes }) => changes?.list({}), ({ work }) => work?.hosts(), ({ work }) => work?.revision(),
  ({ work }) => work?.freeze({ by: 'me' }),
]

export const END = storeGroup([
  {
    id: 'store-close', level: 'must', spec: SPEC,
    statement: 'Closing a store completes what was begun. Closing it twice resolves.',
    why: 'The last records of a host are those of its end.',
    cure: 'Wait for pending operations, and return the same promise again.',
    async check({ fresh, again, patienceMs }) {
      const store = await fresh()
      const begun = settle(() => Promise.all([store.append('last'), store.write('state', 'a', 1)]), { patienceMs })
      const [first, second] = await Promise.all([store.close(), store.close()].map((one) =>
        settle(() => one, { patienceMs })))
      const done = await begun
      const next = await again(store)
      return unlessDone(first!) ?? unlessDone(second!) ?? unlessDone(done) ?? unlessSame(done.value, [1, undefined])
        ?? (next && unlessSame([(await next.records())[0]?.record, await next.read('state', 'a')], ['last', 1]))
    },
  },
  {
    id: 'store-closed', level: 'must', spec: SPEC,
    statement: 'A closed store rejects each use with StoreUnavailable.',
    why: 'A record that seems to be written would be lost.',
    cure: 'Refuse operations from the moment of the close.',
    async check({ fresh, patienceMs }) {
      const store = await fresh()
      await store.append('first')
      const closed = store.close()
      const early = await settle(() => store.append('late'), { patienceMs })
      await closed
      const fault = unlessRejected(early, 'StoreUnavailable')
      if (fault) return fault
      for (const use of [...USES, ...FURTHER_USES]) {
        const ended = await settle(async () => await use(store), { patienceMs })
        const isAbsent = FURTHER_USES.includes(use) && !ended.error && ended.value === undefined && ended.times > 0
        const evidence = isAbsent ? undefined : unlessRejected(ended, 'StoreUnavailable')
        if (evidence) return `${String(use)}: ${evidence}`
      }
      return undefined
    },
  },
  {
    id: 'store-durable', level: 'must', spec: SPEC,
    statement: 'What has resolved is there for the next host, also if the store was not closed.',
    why: 'A host may be killed at any time.',
    cure: 'Resolve a write when it is stored. Set `forgets` for a store that keeps nothing.',
    async check({ fresh, again }) {
      const killed = await fresh()
      await killed.write('approval', 'a', { until: 1 })
      const last = await killed.append({ n: 1 })
      const next = await again(killed)
      if (!next) return undefined
      const found = [await next.read('approval', 'a'), (await next.records())[0]?.record, await next.append({ n: 2 })]
      await killed.close()
      await next.close()
      const third = await again(killed)
      return unlessSame(found, [{ until: 1 }, { n: 1 }, last + 1], 'after a crash it')
        ?? unlessSame([await third?.read('approval', 'a'), (await third?.records())?.length], [{ until: 1 }, 2])
    },
  },
  {
    id: 'store-files', level: 'must', spec: SPEC,
    statement: 'The paths of its files are absolute, and requireFiles accepts them while they are in place.',
    why: 'The host protects these files from tools, and makes no call without its records.',
    cure: 'Name every file, and each that is created later, when the store is opened.',
    async check({ fresh, patienceMs }) {
      const store = await fresh()
      await store.append(1)
      const relative = store.files?.find((path) => !isAbsolute(path))
      if (relative !== undefined) return `"${relative}" is not absolute`
      return unlessDone(await settle(async () => await store.requireFiles?.(), { patienceMs }))
    },
  },
])
