import type { ApprovalAnswer } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import type { Host, Session } from '../../../src/index.ts'
import { ManualClock } from '../../twin/clock.ts'
import { MemoryStore } from '../../twin/store.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'
import { call, EXTENSIONS, START } from './setting.ts'

/** A host whose person gives one answer first, and says no later. */
function hostOf(answer: ApprovalAnswer, store = new MemoryStore(), clock = new ManualClock()) {
  const world = createWorld({ extensions: EXTENSIONS, store, clock })
  let asked = 0
  const approver = { approve: async () => asked++ === 0 ? answer : { decision: 'reject' as const } }
  return { world, clock, store, open: () => world.host.openSession({ approver }), asked: () => asked }
}

const verdicts = async (session: Session, count: number) => {
  const ends: string[] = []
  for (let made = 0; made < count; made++) ends.push(verdictOf(await call(session)))
  return ends
}
const explained = async (session: Session) =>
  (await session.explain({ id: 'e', name: 'echo', arguments: { city: 'Oslo' } })).decision
const listed = async (host: Host) => await host.approvals.list({ ended: true })

test.each(['session', 'project'] as const)('a %s answer for 3 times allows three calls', async (decision) => {
  const { world, open, asked } = hostOf({ decision, uses: 3 })
  const session = await open()
  expect(await verdicts(session, 2)).toEqual(['output', 'output'])
  expect(session.approvals()).toMatchObject([{ maxUses: 3, uses: 1, status: 'standing' }])
  expect(await explained(session)).toBe('allow')
  expect(await verdicts(session, 1)).toEqual(['output'])
  expect(asked()).toBe(1)
  expect(await explained(session)).toBe('ask')
  expect(world.eventsOf('ApprovalExpired')).toHaveLength(1)
  expect(await listed(world.host)).toMatchObject([{ status: 'used', uses: 2, ended: { how: 'used' } }])
  const { chain } = await session.explain({ id: 'e', name: 'echo', arguments: { city: 'Oslo' } })
  expect(chain.map(({ reason }) => reason).join('\n')).toMatch(/was used up .* after 2 uses/)
  expect(await verdicts(session, 1)).toEqual(['ApprovalDenied'])
})

test('calls at once and calls of two hosts share the count', async () => {
  const first = hostOf({ decision: 'project', uses: 4 })
  const one = await first.open()
  expect(await verdicts(one, 1)).toEqual(['output'])
  await first.world.host.flush()
  const second = hostOf({ decision: 'reject' }, first.store, first.clock)
  const two = await second.open()
  const all = await Promise.all([one, two, one, two, one, two].map((session) => call(session)))
  expect(all.map(verdictOf).filter((verdict) => verdict === 'output')).toHaveLength(3)
  expect(await explained(one)).toBe('ask')
  expect(await explained(two)).toBe('ask')
})

test('a limit that cannot be counted allows nothing', async () => {
  const { store, open } = hostOf({ decision: 'session', uses: 3 })
  const session = await open()
  expect(await verdicts(session, 1)).toEqual(['output'])
  const { id, grantedAt } = session.approvals()[0]!
  await store.write('budget', `approval/${id}/${grantedAt}`, { calls: 'few' })
  expect(await verdicts(session, 1)).toEqual(['ApprovalDenied'])
  expect(await explained(session)).toBe('ask')
})

test('once means once: one time, and a time that is over', async () => {
  for (const limit of [{ uses: 1 }, { until: START }]) {
    const { open } = hostOf({ decision: 'session', ...limit })
    const session = await open()
    expect(await verdicts(session, 2)).toEqual(['output', 'ApprovalDenied'])
    expect(session.approvals()).toEqual([])
  }
})

test('an answer until a time ends then, and never later than the terms say', async () => {
  const { clock, open } = hostOf({ decision: 'session', until: '2026-01-01T01:00:00+00:30' })
  const session = await open()
  expect(await verdicts(session, 1)).toEqual(['output'])
  const end = '2026-01-01T00:30:00.000Z'
  expect(session.approvals()).toMatchObject([{ expiresAt: end, until: end }])
  await clock.advance(29 * 60_000)
  expect(await verdicts(session, 1)).toEqual(['output'])
  await clock.advance(60_000)
  expect(await verdicts(session, 1)).toEqual(['ApprovalDenied'])
  const long = hostOf({ decision: 'project', until: '2027-01-01T00:00:00Z' })
  const other = await long.open()
  await call(other)
  expect(other.approvals()).toMatchObject([{ expiresAt: '2026-01-31T00:00:00.000Z' }])
})

test.each<[string, object]>([
  ['a time without a zone', { until: '2026-01-01T17:00' }], ['no time', { until: 'tomorrow' }],
  ['no number', { uses: '5' }], ['zero times', { uses: 0 }], ['a half', { uses: 1.5 }],
  ['arguments that are no object', { arguments: [] }], ['a key that is no string', { key: 1 }],
])('an answer with %s is a no', async (_, limit) => {
  const { open } = hostOf({ decision: 'session', ...limit } as ApprovalAnswer)
  expect(await verdicts(await open(), 1)).toEqual(['ApprovalDenied'])
})

test('an unlimited answer to another question does not lift a limit', async () => {
  const world = createWorld({ extensions: [{ tools: { echo: { approvalKey: '{city}', gated: false } } }] })
  const answers: ApprovalAnswer[] = [{ decision: 'session', uses: 5 }, { decision: 'session' }]
  const approver = { approve: async () => answers.shift() ?? { decision: 'reject' as const } }
  let asks = 'first'
  const watching = (name: string) => Object.defineProperty(
    () => asks === name ? { action: 'ask' as const, reason: 'hm' } : undefined, 'name', { value: name },
  )
  const session = await world.host.openSession({ approver, watchdog: [watching('first'), watching('second')] })
  await call(session)
  asks = 'second'
  await call(session)
  expect(session.approvals()).toMatchObject([{ answers: [expect.stringMatching(/^watchdog second /)] }])
})
