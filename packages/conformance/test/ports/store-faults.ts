import {
  BulkheadError, type AuditEntry, type AuditSpan, type ChangeStore,
  type StoreCollection,
} from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { changed, lenient, type FaultyStore } from './faulty-store.ts'
import { FAULTY_HOSTS } from './store-host-faults.ts'

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

  ...FAULTY_HOSTS,

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
