import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { openApprovals, type Session } from '../../src/index.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const EXTENSIONS: WorldSketch['extensions'] = [{ tools: { echo: { approvalKey: '{city}' }, other: { approvalKey: '{city}' } } }]
const DAY_MS = 86_400_000
const START = '2026-01-01T00:00:00.000Z'

function createSetting(sketch: WorldSketch = {}) {
  const clock = new ManualClock()
  const store = new MemoryStore()
  const world = createWorld({ extensions: EXTENSIONS!, clock, store, ...sketch })
  return { clock, store, world, approvals: world.host.approvals }
}

/** Opens a session whose person always says the same. */
async function opened({ world }: Pick<ReturnType<typeof createSetting>, 'world'>, decision: 'once' | 'session' | 'project') {
  const approver = new ScriptedApprover(decision)
  return { session: await world.host.openSession({ approver }), asked: () => approver.asked.length }
}

const call = (session: Session, city = 'Oslo', name = 'echo') => session.call({ id: 'c', name, arguments: { city } })

describe('an approval', () => {
  test('says what was approved, of what, by whom, when, until when and how often it was used', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    await call(session)
    await call(session)
    await setting.clock.advance(1_000)
    await call(session)
    const [approval, ...more] = await setting.approvals.list()
    expect(more).toEqual([])
    expect(approval).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/), scope: 'project', status: 'standing', ended: null, tool: 'echo', approvalKey: 'Oslo',
      origin: { layer: 'global', extension: 'sample', version: '1.0.0', digest: expect.any(String) },
      digests: { package: expect.any(String), tool: expect.any(String), capability: expect.any(String) },
      workspace: '/work space', sessionId: session.id, grantedAt: START, grantedBy: 'person', expiresAt: '2026-01-31T00:00:00.000Z',
      uses: 2, lastUsedAt: '2026-01-01T00:00:01.000Z',
    })
    expect(session.approvals()).toEqual([approval])
  })

  test('names whoever answered, in so far as they say', async () => {
    const { world } = createSetting()
    const session = await world.host.openSession({ approver: { approve: async () => ({ decision: 'session', by: 'Ada' }) } })
    await call(session)
    expect(session.approvals()).toMatchObject([{ scope: 'session', grantedBy: 'Ada', expiresAt: null }])
  })

  test('is listed by project, session and tool', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'session')
    await call(session)
    const { session: second } = await opened(setting, 'project')
    await call(second)
    await call(second, 'Oslo', 'other')
    const elsewhere = createWorld({ extensions: EXTENSIONS!, store: setting.store, workspace: '/elsewhere' })
    await call((await opened({ world: elsewhere }, 'project')).session)
    const count = async (...filter: Parameters<typeof setting.approvals.list>) => (await setting.approvals.list(...filter)).length
    expect(await count()).toBe(3)
    expect(await count({ tool: 'echo' })).toBe(2)
    expect(await count({ session: session.id })).toBe(1)
    expect(await count({ session: second.id, tool: 'other' })).toBe(1)
    expect(await count({ workspace: '/elsewhere' })).toBe(1)
    expect(await count({ everywhere: true })).toBe(4)
    await session.close()
    expect(await count()).toBe(2)
  })

  test('of a sub-agent is its own', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'session')
    const subagent = await session.openSubagent()
    await call(subagent)
    expect(session.approvals()).toEqual([])
    expect(await setting.approvals.list({ session: subagent.id })).toHaveLength(1)
    expect(await setting.approvals.revoke({ session: subagent.id })).toHaveLength(1)
    expect(subagent.approvals()).toEqual([])
  })
})

describe('expiry', () => {
  test('a project approval ends after 30 days, and that is told once', async () => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, 'project')
    await call(session)
    await setting.clock.advance(30 * DAY_MS - 1)
    await call(session)
    expect(asked()).toBe(1)
    await setting.clock.advance(1)
    expect(await setting.approvals.list()).toEqual([])
    expect(await setting.approvals.list({ ended: true })).toMatchObject([{ status: 'expired', ended: { how: 'expired' }, uses: 1 }])
    const { session: other, asked: askedOther } = await opened(setting, 'once')
    await call(other)
    await call(other)
    expect(askedOther()).toBe(2)
    await setting.world.host.flush()
    expect(setting.world.eventsOf('ApprovalExpired')).toMatchObject([{ scope: 'project', tool: 'echo', approvalKey: 'Oslo' }])
  })

  test('given anew it lasts anew, and its uses are counted from nothing', async () => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, 'project')
    await call(session)
    await call(session)
    await setting.clock.advance(31 * DAY_MS)
    await call(session)
    await call(session)
    expect(asked()).toBe(2)
    expect(await setting.approvals.list()).toMatchObject([{ grantedAt: '2026-02-01T00:00:00.000Z', uses: 1 }])
  })

  const layer = (name: LayerConfig['layer'], approvals: NonNullable<ConfigFile['approvals']>): LayerConfig =>
    ({ layer: name, location: name, config: { approvals } })

  test.each<[string, readonly LayerConfig[], string]>([
    ['by itself', [], '2026-01-31'],
    ['as the user says', [layer('global', { projectDays: 90 })], '2026-04-01'],
    ['as a project says that wants less', [layer('project', { projectDays: 1 })], '2026-01-02'],
    ['and a project cannot make it longer', [layer('project', { projectDays: 365 })], '2026-01-31'],
    ['nor longer than the user wants', [layer('global', { projectDays: 7 }), layer('project', { projectDays: 20 })], '2026-01-08'],
    ['an embedder goes over the user', [layer('global', { projectDays: 7 }), layer('embedder', { projectDays: 10 })], '2026-01-11'],
  ])('for a project, %s', async (_, layers, until) => {
    const setting = createSetting({ layers })
    await call((await opened(setting, 'project')).session)
    expect(await setting.approvals.list()).toMatchObject([{ expiresAt: `${until}T00:00:00.000Z` }])
  })

  test('for a session, after as many minutes as are configured', async () => {
    const setting = createSetting({ layers: [layer('global', { sessionMinutes: 10 })] })
    const { session, asked } = await opened(setting, 'session')
    await call(session)
    await setting.clock.advance(10 * 60_000 - 1)
    await call(session)
    expect(asked()).toBe(1)
    await setting.clock.advance(1)
    await call(session)
    expect(asked()).toBe(2)
    expect(setting.world.eventsOf('ApprovalExpired')).toMatchObject([{ scope: 'session' }])
  })

  test('what ended long ago is forgotten', async () => {
    const setting = createSetting()
    await call((await opened(setting, 'project')).session)
    await setting.clock.advance((30 + 91) * DAY_MS)
    const later = createWorld({ extensions: EXTENSIONS!, clock: setting.clock, store: setting.store })
    await later.host.openSession()
    await flush()
    expect(await setting.store.list('approval')).toEqual([])
  })
})

describe('revoking', () => {
  test.each(['session', 'project'] as const)('one for the %s counts for the very next call', async (scope) => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, scope)
    await call(session)
    await call(session, 'Bergen')
    const { id } = session.approvals().find(({ approvalKey }) => approvalKey === 'Oslo')!
    // Not awaited: the call is made while the store is still being told.
    const revoking = setting.approvals.revoke(id, 'Ada')
    await call(session)
    expect(asked()).toBe(3)
    expect(await revoking).toMatchObject([{ id, status: 'revoked', ended: { how: 'revoked', by: 'Ada' } }])
    await call(session, 'Bergen')
    expect(asked()).toBe(3)
    expect(setting.world.eventsOf('ApprovalRevoked')).toMatchObject([{ approvalId: id, scope, revokedBy: 'Ada' }])
  })

  test('ends all that a filter finds, and nothing else', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    for (const city of ['Oslo', 'Bergen']) await call(session, city)
    await call(session, 'Oslo', 'other')
    expect((await setting.approvals.revoke({ tool: 'echo' })).map(({ approvalKey }) => approvalKey).toSorted()).toEqual(['Bergen', 'Oslo'])
    expect(session.approvals()).toMatchObject([{ tool: 'other' }])
    expect(await setting.approvals.revoke({ tool: 'echo' })).toEqual([])
  })

  test.each(['none', ''])('refuses the id %j', async (id) => {
    await expect(createSetting().approvals.revoke(id)).rejects.toMatchObject({ code: 'NotFound' })
  })

  test('in another process counts for the next call here, and so does an approval that is given there', async () => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, 'project')
    await call(session)
    await setting.world.host.flush()
    const outside = openApprovals(setting.store, setting.clock)
    const [approval] = await outside.list()
    await outside.revoke(approval!.id, 'somebody else')
    await call(session)
    expect(asked()).toBe(2)
    const other = createWorld({ extensions: EXTENSIONS!, clock: setting.clock, store: setting.store })
    await call((await opened({ world: other }, 'project')).session, 'Bergen')
    await other.host.flush()
    await call(session, 'Bergen')
    expect(asked()).toBe(2)
  })

  test('outside of a host is in the audit too', async () => {
    const setting = createSetting()
    await call((await opened(setting, 'project')).session)
    await setting.world.host.flush()
    const outside = openApprovals(setting.store, setting.clock)
    await outside.revoke({ tool: 'echo' }, 'Ada')
    const types = (await setting.store.records()).map(({ record }) => (record as { type: string }).type)
    expect(types.filter((type) => type.startsWith('Approval'))).toEqual(['ApprovalGranted', 'ApprovalRevoked'])
  })

  test('that the store cannot keep is told, and holds here', async () => {
    const setting = createSetting({ config: { audit: { enabled: false } } })
    const { session, asked } = await opened(setting, 'project')
    await call(session)
    await setting.world.host.flush()
    setting.store.failing = true
    await expect(setting.approvals.revoke({})).rejects.toMatchObject({ code: 'StoreUnavailable' })
    setting.store.failing = false
    await call(session)
    expect(asked()).toBe(2)
  })

  test('is not undone by uses that are counted afterwards', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    await call(session)
    await call(session)
    await setting.approvals.revoke({})
    await setting.world.host.flush()
    expect(await setting.approvals.list({ ended: true })).toMatchObject([{ status: 'revoked', uses: 1 }])
  })
})

test('uses of several hosts add up', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await setting.world.host.flush()
  const other = createWorld({ extensions: EXTENSIONS!, clock: setting.clock, store: setting.store })
  const { session: second } = await opened({ world: other }, 'once')
  for (const one of [session, second, second]) expect(verdictOf(await call(one))).toBe('output')
  await Promise.all([setting.world.host.flush(), other.host.flush()])
  expect(await setting.approvals.list()).toMatchObject([{ uses: 3 }])
})

test('uses are written behind without anybody asking', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await call(session)
  expect(await setting.store.list('approval')).toMatchObject([{ value: { uses: 0 } }])
  await setting.clock.advance(2_000)
  expect(await setting.store.list('approval')).toMatchObject([{ value: { uses: 1 } }])
})
