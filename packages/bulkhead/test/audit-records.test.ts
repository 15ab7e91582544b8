import type { Json } from '@bulkhead/kit/json'
import { createMemoryStore } from '@bulkhead/store'
import { expect, it } from 'vitest'
import { latestEntries, recordTable, type RecordFilter } from '../src/cli/policy/audit-records.ts'

const called = (tool: string) => ({ type: 'ToolInvocationSucceeded', tool })
const moved = (to: string) => ({ type: 'LifecycleStateChanged', extensionId: 'weather', from: 'loaded', to })

async function storeOf(records: readonly Json[]) {
  const store = createMemoryStore()
  await Promise.all(records.map((record) => store.append(record)))
  return store
}
const positions = async (records: readonly Json[], count: number, filter: RecordFilter = {}) =>
  (await latestEntries(await storeOf(records), count, filter)).map(({ position }) => position)

it('shows every record, and every gap', async () => {
  expect(await positions([called('a'), moved('active'), moved('disposed'), called('b')], 20)).toEqual([1, 2, 3, 4])
  const [entry] = await latestEntries(await storeOf([{ ...moved('active'), lostBefore: 3 }]), 1)
  expect(recordTable([entry!])).toContain('(3 earlier records were lost) weather loaded to active')
})

it('finds the requested number of records, however many others lie between them', async () => {
  const many = Array.from({ length: 1_300 }, (_, at) => called(at % 400 === 0 ? 'wanted' : 'other'))
  expect(await positions(many, 2, { tool: 'wanted' })).toEqual([801, 1201])
  expect(await positions(many, 50, { tool: 'wanted' })).toEqual([1, 401, 801, 1201])
  expect(await positions(many, 3)).toEqual([1298, 1299, 1300])
})

it('selects records by tool, session, principal and time', async () => {
  const record = (at: string, sessionId: string, more: object = {}) =>
    ({ type: 'ToolInvocationSucceeded', at, sessionId, ...more })
  const records = [
    record('2026-01-01T10:00:00.000Z', 'aa-1', { tool: 'read' }),
    record('2026-01-02T10:00:00.000Z', 'aa-2', { tool: 'bash' }),
    record('2026-01-03T10:00:00.000Z', 'bb-1', { tool: 'bash', principal: 'ann' }),
    record('2026-01-03T11:00:00.000Z', 'bb-1'),
  ]
  const found = (filter: RecordFilter) => positions(records, 20, filter)
  expect(await found({ tool: 'bash' })).toEqual([2, 3])
  expect(await found({ session: 'aa' })).toEqual([1, 2])
  expect(await found({ principal: 'ann' })).toEqual([3])
  expect(await found({ since: '2026-01-02T10:00:00.000Z', until: '2026-01-03T10:00:00.000Z' })).toEqual([2, 3])
})

it('shows nothing for an empty audit', async () => {
  expect(await positions([], 5)).toEqual([])
  expect(recordTable([])).toBe('No records.\n')
})
