import { setTimeout as sleep } from 'node:timers/promises'
import {
  BulkheadError, type AuditEntry, type AuditSpan, type CallEntry, type ChangeStore, type Seat, type Store,
  type StoreCollection, type Work,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'

/** A store with one fault, and the requirements that it breaks. All others of their groups hold. */
export interface FaultyStore {
  readonly breaks: readonly string[]
  readonly wrap: (store: Store) => Store
}

/** Replaces members of a store. */
const changed = (change: (store: Store) => Partial<Store>) => (store: Store): Store => {
  const members = new Map<string, unknown>(Object.entries(change(store)))
  return new Proxy(store, {
    get(target, key) {
      if (members.has(key as string)) return members.get(key as string)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
const works = (change: (work: Work) => Partial<Work>) => changed(({ work: own }) => own ? { work: {
  join: (info, listener) => own.join(info, listener), hosts: () => own.hosts(), isGone: (id) => own.isGone(id),
  revision: () => own.revision(), frozen: () => own.frozen(), freeze: (freeze) => own.freeze(freeze),
  thaw: () => own.thaw(), ...change(own),
} } : {})
const seats = (change: (seat: Seat) => Partial<Seat>) => works((own) => ({
  async join(info, listener) {
    const seat = await own.join(info, listener)
    return {
      id: seat.id, open: (call) => seat.open(call), describe: (one) => seat.describe(one),
      show: (kind, id, row) => seat.show(kind, id, row), hide: (kind, id) => seat.hide(kind, id),
      takeOver: (host) => seat.takeOver(host), discard: (host) => seat.discard(host), settled: () => seat.settled(),
      leave: () => seat.leave(), ...change(seat),
    }
  },
}))
const entries = (change: (entry: CallEntry) => Partial<CallEntry>) => seats((seat) => ({
  open(call) {
    const entry = seat.open(call)
    return {
      start: (how) => entry.start(how), begin: (effect) => entry.begin(effect), end: () => entry.end(),
      ...change(entry),
    }
  },
}))
const changes = (change: (own: ChangeStore) => Partial<ChangeStore>) => changed(({ changes: own }) => own ? { changes: {
  add: (one, content) => own.add(one, content), list: (filter) => own.list(filter),
  content: (digest) => own.content(digest), ...change(own),
} } : {})
const records = (change: (entry: AuditEntry) => AuditEntry) => changed((store) => ({
  records: async (from, limit) => (await store.records(from, limit)).map(change),
}))
const spans = (change: (span: AuditSpan) => AuditSpan) => changed((store) => ({
  auditSpan: async () => change(await store.auditSpan()),
}))
const lenient = <Value>(work: Promise<Value>, value: Value): Promise<Value> => work.catch(() => value)

export const FAULTY_STORES: Readonly<Record<string, FaultyStore>> = {
  'rounds numbers': {
    breaks: ['store-values'],
    wrap: changed((store) => ({
      write: (collection, key, value) =>
        store.write(collection, key, typeof value === 'number' ? Math.round(value) : value),
    })),
  },
  'keeps the object that it was given': {
    breaks: ['store-copies'],
    wrap: changed((store) => {
      const kept = new Map<string, Json>()
      return {
        write: async (collection, key, value) => {
          await store.write(collection, key, value)
          kept.set(key, value)
        },
        read: async (collection, key) => {
          const value = await store.read(collection, key)
          const own = kept.get(key)
          return typeof own === 'object' && own !== null && 'list' in own ? own : value
        },
      }
    }),
  },
  'keeps the order of members': {
    breaks: ['store-sorted'],
    wrap: changed((store) => ({
      read: async (collection, key) => {
        const value = await store.read(collection, key)
        return value && !Array.isArray(value) && typeof value === 'object' && 'a' in value && 'b' in value
          ? { b: value['b']!, a: value['a']! } : value
      },
    })),
  },
  'has one collection': {
    breaks: ['store-collections'],
    wrap: changed((store) => {
      const one = (collection: StoreCollection): StoreCollection => collection === 'approval' ? 'state' : collection
      return {
        read: (collection, key) => store.read(one(collection), key),
        write: (collection, key, value) => store.write(one(collection), key, value),
        remove: (collection, key) => store.remove(one(collection), key),
        list: (collection, prefix) => store.list(one(collection), prefix),
      }
    }),
  },
  'sorts by byte': {
    breaks: ['store-list'],
    wrap: changed((store) => ({
      list: async (collection, prefix) => (await store.list(collection, prefix))
        .toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key))),
    })),
  },
  'takes prefixes for patterns': {
    breaks: ['store-list'],
    wrap: changed((store) => ({
      list: async (collection, prefix) => store.list(collection, prefix === '%' ? '' : prefix),
    })),
  },
  'reads before it writes': {
    breaks: ['store-order'],
    wrap: changed((store) => ({
      write: async (collection, key, value) => {
        if (typeof value === 'number') await store.list(collection)
        await store.write(collection, key, value)
      },
    })),
  },
  'stores what is not JSON': {
    breaks: ['store-refuses'],
    wrap: changed((store) => ({
      write: (collection, key, value) => store.write(collection, key, JSON.parse(JSON.stringify(value)) as Json),
    })),
  },

  'stores null for nothing': {
    breaks: ['store-update'],
    wrap: changed((store) => ({
      update: (collection, key, change) => store.update(collection, key, (value) => change(value) ?? null),
    })),
  },
  'writes before it rejects': {
    breaks: ['store-update-throws'],
    wrap: changed((store) => ({
      update: (collection, key, change) => store.update(collection, key, change).catch(async (error: unknown) => {
        await store.write(collection, key, 2)
        throw error
      }),
    })),
  },
  'updates in two steps': {
    breaks: ['store-update-atomic'],
    wrap: changed((store) => ({
      update: async (collection, key, change) => {
        const value = change(await store.read(collection, key))
        if (value === undefined) await store.remove(collection, key)
        else await store.write(collection, key, value)
        return value
      },
    })),
  },
  'counts its own approvals only': {
    breaks: ['store-approval-revision', 'store-start-revision'],
    wrap: changed((store) => {
      let count = 0
      const { work } = store
      return {
        ...(work && { work: new Proxy(work, {
          get: (own, key) => key === 'revision' ? async () => count
            : (Reflect.get(own, key) as (...given: unknown[]) => unknown).bind(own),
        }) }),
        write: (collection, key, value) => {
          count++
          return store.write(collection, key, value)
        },
      }
    }),
  },

  'numbers from 0': {
    breaks: ['store-positions', 'store-positions-shared'],
    wrap: changed((store) => ({ append: async (record) => await store.append(record) - 1 })),
  },
  'returns whole pages': {
    breaks: ['store-positions', 'store-groups'], wrap: changed((store) => ({ records: (from) => store.records(from) })),
  },
  'has a chain for each host': {
    breaks: ['store-positions-shared'],
    wrap: changed((store) => {
      let own = 0
      return { append: async (record) => (await store.append(record), ++own) }
    }),
  },
  'links records of a group': {
    breaks: ['store-groups'], wrap: records((entry) => ({ ...entry, link: entry.link ?? '0'.repeat(64) })),
  },
  'forgets the end': {
    breaks: ['store-links'],
    wrap: spans((span) => span.last === 3 ? { ...span, link: '0'.repeat(64) } : span),
  },
  'changes a record': {
    breaks: ['store-links'],
    wrap: records((entry) => entry.position === 2 && canonicalJson(entry.record) === '{"a":1,"b":2}'
      ? { ...entry, record: { a: 1, b: 3 } } : entry),
  },
  'stores the texts of groups': {
    breaks: ['store-group-digests'],
    wrap: changed((store) => ({
      appendAll: ({ forms, rows, texts }) => store.appendAll!({
        forms, rows: rows.map((row, index) => `${row}${texts[index] === undefined ? '' : `,"${index}"`}`), texts: [],
      }),
    })),
  },

  'archives without a record': {
    breaks: ['store-archive', 'store-archive-once'],
    wrap: changed((store) => ({
      records: async (from, limit) => (await store.records(from, limit))
        .filter(({ record }) => (record as { readonly type?: string }).type === undefined),
    })),
  },
  'says that it archived': {
    breaks: ['store-archive-refused', 'store-archive-once'],
    wrap: changed((store) => ({ archive: (last, link, by) => lenient(store.archive!(last, link, by), last) })),
  },

  'drops no calls': { breaks: ['store-calls'], wrap: entries(() => ({ end: () => undefined })) },
  'lists calls that have started': {
    breaks: ['store-calls-waiting'],
    wrap: seats((seat) => ({
      open(call) {
        let entry: CallEntry | undefined
        return {
          start: (how) => (entry ??= seat.open(call)).start(how), begin: (effect) => entry!.begin(effect),
          end: () => entry?.end(),
        }
      },
    })),
  },
  'shares the id of a host': {
    breaks: ['store-join-once'],
    wrap: works((own) => ({
      join: (info, listener) => own.join(info, listener).catch(() => own.join({ ...info, id: `${info.id} 2` }, listener)),
    })),
  },
  'hides nothing': { breaks: ['store-shown'], wrap: seats(() => ({ hide: () => undefined })) },
  'hands calls to everyone': {
    breaks: ['store-take-over'], wrap: seats((seat) => ({ takeOver: async (host) => await seat.takeOver(host) ?? [] })),
  },
  'starts calls of a host that lost its seat': {
    breaks: ['store-seat-lost'],
    wrap: entries((entry) => ({ start: (how) => lenient(entry.start(how), { is: 'started' }) })),
  },
  'does not compare the revision': {
    breaks: ['store-start-revision'],
    wrap: entries((entry) => ({ start: (how) => entry.start({ ...how, revision: undefined }) })),
  },
  'freezes only new calls': {
    breaks: ['store-freeze'],
    wrap: entries((entry) => {
      let hasStarted = false
      return {
        start: async (how) => {
          const started = await entry.start(how)
          const before = hasStarted
          hasStarted ||= started.is === 'started'
          return before ? { is: 'started' } : started
        },
      }
    }),
  },
  'starts a call in two steps': {
    breaks: ['store-freeze', 'store-freeze-race'],
    wrap: entries((entry) => ({
      start: async (how) => {
        await sleep(50)
        const started = await entry.start(how)
        return started.is === 'frozen' ? { is: 'started' } : started
      },
    })),
  },
  'tells no host of a thaw': {
    breaks: ['store-freeze-heard'],
    wrap: works((own) => ({
      join: (info, listener) => own.join(info, {
        onGate: (freeze) => { if (freeze) listener.onGate(freeze) }, onRevision: () => listener.onRevision(),
        onLost: () => listener.onLost(), onGone: () => listener.onGone(), onFault: (error) => listener.onFault(error),
      }),
    })),
  },

  'numbers no changes': {
    breaks: ['store-changes', 'store-changes-filter'],
    wrap: changes((own) => ({ add: async (change, content) => (await own.add(change, content), 1) })),
  },
  'finds the changes of every session': {
    breaks: ['store-changes-filter'],
    wrap: changes((own) => ({ list: ({ sessionId: _, ...filter }) => own.list(filter) })),
  },
  'drops content': { breaks: ['store-changes-content'], wrap: changes(() => ({ content: async () => undefined })) },

  'cuts off what was begun': {
    breaks: ['store-close'],
    wrap: changed((store) => {
      let isClosed = false
      return {
        append: async (record) => {
          const position = await store.append(record)
          return isClosed ? Promise.reject(new BulkheadError('StoreUnavailable', 'Closed.')) : position
        },
        close: () => {
          isClosed = true
          return store.close()
        },
      }
    }),
  },
  'closes once': {
    breaks: ['store-close'],
    wrap: changed((store) => {
      let isClosed = false
      return {
        close: async () => {
          if (isClosed) throw new BulkheadError('StoreUnavailable', 'Closed.')
          isClosed = true
          await store.close()
        },
      }
    }),
  },
  'answers when it is closed': {
    breaks: ['store-closed'],
    wrap: changed((store) => ({ read: (collection, key) => lenient(store.read(collection, key), undefined) })),
  },
  'keeps approvals in memory': {
    breaks: ['store-durable'],
    wrap: changed((store) => ({
      write: async (collection, key, value) =>
        collection === 'approval' ? undefined : store.write(collection, key, value),
    })),
  },
  'names files without their folder': { breaks: ['store-files'], wrap: changed(() => ({ files: ['host.db'] })) },
}
