import { createHash } from 'node:crypto'
import type { AuditEntry, AuditGroup, Store } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import { storeGroup, upTo, type StoreBench } from './store-bench.ts'
import { settle, unlessRejected, unlessSame } from './verify.ts'

const SPEC = 'docs/guides/audit.md'
const START = '0'.repeat(64)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const positionsOf = (entries: readonly AuditEntry[]): readonly number[] => entries.map(({ position }) => position)
const recordsIn = async (store: Store, from?: number): Promise<readonly Json[]> =>
  (await store.records(from)).map(({ record }) => record)

/** Evidence if the links are not those of the records, or the span is not that of the audit. */
async function chainFault(store: Store): Promise<string | undefined> {
  const { first, before, last, link } = await store.auditSpan()
  const entries = await store.records()
  let end = before
  let open: AuditEntry[] = []
  for (const entry of entries) {
    open.push(entry)
    if (entry.link === null) continue
    const text = entry.text ?? open.map(({ record }) => canonicalJson(record)).join('\n')
    end = sha256(`${end} ${open[0]!.position} ${text}`)
    if (end !== entry.link) return `the link of record ${entry.position} is not that of its records`
    open = []
  }
  const all = entries.length === 0 ? [] : upTo(last).slice(first - 1)
  return unlessSame(positionsOf(entries), all, 'the list of positions') ?? unlessSame(link, end, 'the last link')
}

const group = (...numbers: number[]): AuditGroup =>
  ({ forms: [{ same: {}, own: ['n'] }], rows: numbers.map((n) => `0,${n}`), texts: [] })

/** One record, three, one. Stores that know no groups have three records. */
async function filled({ shared }: StoreBench): Promise<readonly [Store, Store]> {
  const stores = await shared()
  await stores[0].append({ n: 1 })
  await stores[0].appendAll?.(group(2, 3, 4))
  await stores[0].append({ n: 5 })
  return stores
}

const linkAt = async (store: Store, position: number): Promise<string> =>
  (await store.records(position, 1))[0]?.link ?? ''

export const AUDIT = storeGroup([
  {
    id: 'store-positions', level: 'must', spec: SPEC,
    statement: 'Audit records are numbered from 1 without gaps, and are read from any position, as many as wanted.',
    why: 'A missing record must be seen.',
    cure: 'Assign the position in the transaction of the append.',
    async check({ fresh }) {
      const store = await fresh()
      const appended = [await store.append('one'), await store.append('two'), await store.append('three')]
      const pages = [[0, Infinity], [2, 1], [-5, 2], [3, 1e300], [9, 1], [1, 0]] as const
      const read = await Promise.all(pages.map(async (page) => positionsOf(await store.records(...page))))
      return unlessSame(appended, [1, 2, 3])
        ?? unlessSame(read, [[1, 2, 3], [2], [1, 2], [3], [], []], 'the list of pages')
        ?? unlessSame(await recordsIn(store), ['one', 'two', 'three'])
    },
  },
  {
    id: 'store-positions-shared', level: 'must', spec: SPEC,
    statement: 'The records of all hosts have one numbering and one chain.',
    why: 'The audit of a machine is one.',
    cure: 'Lock the end of the audit for an append.',
    async check({ shared }) {
      const stores = await shared()
      const positions = await Promise.all(upTo(100).map((n) => stores[n % 2]!.append({ n })))
      return unlessSame(positions.toSorted((one, other) => one - other), upTo(100), 'the list of positions')
        ?? await chainFault(stores[0]) ?? await chainFault(stores[1])
    },
  },
  {
    id: 'store-links', level: 'must', spec: SPEC,
    statement: 'A link covers the previous link, the position, and the records since then.',
    why: 'A change of one record then breaks all later links.',
    cure: 'Store the SHA-256 of the previous link, the position of the first record and the text, with spaces between.',
    async check({ fresh }) {
      const store = await fresh()
      const empty = await store.auditSpan()
      for (const record of ['one', { b: 2, a: 1 }, 'one']) await store.append(record)
      const { link, ...span } = await store.auditSpan()
      return unlessSame(empty, { first: 0, before: START, last: 0, link: START }, 'the empty span')
        ?? unlessSame(span, { first: 1, before: START, last: 3 }, 'the span')
        ?? unlessSame(link, await linkAt(store, 3), 'the last link') ?? chainFault(store)
    },
  },
  {
    id: 'store-groups', level: 'must', spec: SPEC,
    statement: 'appendAll, if there is one, gives each record of a group its own position, and the group one link.',
    why: 'A busy host writes hundreds of records at once.',
    cure: 'Store the text of the group, and return it with the last record.',
    async check(bench) {
      const [store] = await filled(bench)
      if (!store.appendAll) return undefined
      const empty = await store.appendAll(group())
      const forms = [{ same: { z: 1 }, own: ['a', 'b'] }, { same: { n: 7 }, own: [] }]
      const rows = [`0,${JSON.stringify('line\nbreak')},${JSON.stringify({ tab: '\t' })}`, '1']
      const last = await store.appendAll({ forms, rows, texts: [] })
      const entries = await store.records()
      const expected = [
        ...upTo(5).map((n) => ({ n })), { a: 'line\nbreak', b: { tab: '\t' }, z: 1 }, { n: 7 },
      ]
      const pages = await Promise.all(upTo(8).map((from) => store.records(from, 2)))
      return unlessSame([empty, last], [5, 7], 'the position of a group')
        ?? unlessSame(entries.map(({ record }) => record), expected)
        ?? unlessSame(entries.flatMap(({ link, position }) => link === null ? [position] : []), [2, 3, 6],
          'the list of records without a link')
        ?? firstOf(pages.keys(), (index) => unlessSame(pages[index], entries.slice(index, index + 2), 'a page'))
        ?? chainFault(store)
    },
  },
  {
    id: 'store-group-digests', level: 'must', spec: SPEC,
    statement: 'appendAll stores only the SHA-256 of a text, as the last value of its row.',
    why: 'Arguments of calls may be long and private.',
    cure: 'Hash the texts, and keep none of them.',
    async check({ fresh }) {
      const store = await fresh()
      const forms = [{ same: { tool: 't' }, own: ['n', 'argsSha256'] }, { same: {}, own: ['n'] }]
      const rows = ['0,1', '1,2', `0,${JSON.stringify('\0')}`]
      await store.appendAll?.({ forms, rows, texts: ['{"secret":1}', undefined, ''] })
      return store.appendAll && unlessSame(await recordsIn(store), [
        { argsSha256: sha256('{"secret":1}'), n: 1, tool: 't' }, { n: 2 },
        { argsSha256: sha256(''), n: '\0', tool: 't' },
      ])
    },
  },
])

export const ARCHIVE = storeGroup([
  {
    id: 'store-archive', level: 'must', spec: SPEC,
    statement: 'archive removes the records up to a link and appends a record that says so. The chain goes on.',
    why: 'A store must not grow for ever, and records must not disappear without a trace.',
    cure: 'Keep the position and the link of the last removed record as the start of the audit.',
    async check(bench) {
      const [store] = await filled(bench)
      if (!store.archive) return undefined
      const link = await linkAt(store, 4)
      const position = await store.archive(4, link, 'Ada')
      const [kept, record] = await recordsIn(store)
      const { first, before, last } = await store.auditSpan()
      const { at: _, ...documented } = (record ?? {}) as { readonly at?: string }
      const again = await store.archive(6, await linkAt(store, 6), 'Bob')
      return unlessSame([position, { first, before, last }], [6, { first: 5, before: link, last: 6 }])
        ?? unlessSame([kept, documented], [{ n: 5 }, { by: 'Ada', first: 1, last: 4, link, type: 'AuditArchived' }])
        ?? unlessSame([again, (await store.auditSpan()).first], [7, 7], 'the second archive') ?? chainFault(store)
    },
  },
  {
    id: 'store-archive-refused', level: 'must', spec: SPEC,
    statement: 'archive refuses a range that does not end with its link, with StoreUnavailable, and removes nothing.',
    why: 'What was not saved must not be removed.',
    cure: 'Compare the link in the transaction of the removal.',
    async check(bench) {
      const [store] = await filled(bench)
      const before = await store.records()
      for (const [last, of] of [[3, 4], [4, 1], [0, 1], [6, 5]] as const) {
        const link = await linkAt(store, of)
        const ended = store.archive && await settle(() => store.archive!(last, link, 'Ada'), bench)
        const evidence = ended && unlessRejected(ended, 'StoreUnavailable')
        if (evidence) return `up to ${last}, with the link of ${of}, ${evidence}`
      }
      return unlessSame(await store.records(), before) ?? chainFault(store)
    },
  },
  {
    id: 'store-archive-once', level: 'must', spec: SPEC,
    statement: 'Of two hosts that archive the same range, one succeeds.',
    why: 'A range is removed once, and recorded once.',
    cure: 'Compare, remove and append in one transaction.',
    async check(bench) {
      const stores = await filled(bench)
      const link = await linkAt(stores[0], 4)
      if (!stores[0].archive) return undefined
      const ended = await Promise.all(stores.map((store) => settle(() => store.archive!(4, link, 'Ada'), bench)))
      return unlessSame(ended.filter(({ error }) => !error).length, 1, 'the number of archives')
        ?? unlessSame((await recordsIn(stores[0])).length, 2, 'the number of records') ?? chainFault(stores[0])
    },
  },
])
