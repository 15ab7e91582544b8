import type { Json } from '@bulkhead/kit/json'
import { createMemoryStore } from '@bulkhead/store'
import { expect, it } from 'vitest'
import { auditTable, type AuditFilter, latestEntries } from '../src/cli/policy/audit.ts'

const called = (tool: string) => ({ type: 'ToolInvocationSucceeded', tool })
const moved = (to: string) => ({ type: 'LifecycleStateChanged', extensionId: 'weather', from: 'loaded', to })
const ended = (errorCode: string | null) => ({
  type: 'CompartmentEnded', extensionId: 'weather', errorCode, message: 'It ended.',
})

async function storeOf(records: readonly Json[]) {
  const store = createMemoryStore()
  await Promise.all(records.map((record) => store.append(record)))
  return store
}
const positions = async (records: readonly Json[], count: number, all = false) =>
  (await latestEntries(await storeOf(records), count, all)).map(({ position }) => position)

it('shows calls, and extension lifecycle records only on request', async () => {
  const records = [called('a'), moved('active'), ended(null), moved('disposed'), called('b')]
  expect(await positions(records, 20)).toEqual([1, 5])
  expect(await positions(records, 20, true)).toEqual([1, 2, 3, 4, 5])
})

it('shows every fault and every gap', async () => {
  expect(
    await positions(
      [moved('failed'), ended('CompartmentCrashed'), { ...moved('active'), lostBefore: 3 }, moved('active')], 20,
    ),
  ).toEqual([1, 2, 3])
  const [entry] = await latestEntries(await storeOf([{ ...moved('active'), lostBefore: 3 }]), 1, false)
  expect(auditTable([entry!])).toContain('(3 earlier records were lost) loaded to active')
})

it('finds the requested number of records, however many others lie between them', async () => {
  const many = Array.from({ length: 1_300 }, (_, at) => at % 400 === 0 ? called(`t${at}`) : moved('active'))
  expect(await positions(many, 2)).toEqual([801, 1201])
  expect(await positions(many, 3)).toEqual([401, 801, 1201])
  expect(await positions(many, 50)).toEqual([1, 401, 801, 1201])
  expect(await positions(many, 3, true)).toEqual([1298, 1299, 1300])
})

it('selects records by tool, session and time', async () => {
  const record = (at: string, sessionId: string, tool?: string) => ({
    type: 'ToolInvocationSucceeded', at, sessionId, ...(tool && { tool }),
  })
  const store = await storeOf([
    record('2026-01-01T10:00:00.000Z', 'aa-1', 'read'), record('2026-01-02T10:00:00.000Z', 'aa-2', 'bash'),
    record('2026-01-03T10:00:00.000Z', 'bb-1', 'bash'), record('2026-01-03T11:00:00.000Z', 'bb-1'), called('bash'),
  ])
  const found = async (filter: AuditFilter) =>
    (await latestEntries(store, 20, false, filter)).map(({ position }) => position)
  expect(await found({ tool: 'bash' })).toEqual([2, 3, 5])
  expect(await found({ session: 'aa' })).toEqual([1, 2])
  expect(await found({ since: new Date('2026-01-02T10:00:00Z') })).toEqual([2, 3, 4])
  expect(await found({ tool: 'bash', session: 'bb', since: new Date('2026-01-03') })).toEqual([3])
})

it('shows nothing for an empty audit', async () => {
  expect(await positions([], 5)).toEqual([])
  expect(auditTable([])).toBe('No records.\n')
})
