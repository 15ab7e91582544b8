import { describe, expect, test } from 'vitest'
import { openApprovals } from '../../../src/index.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'
import { call, createSetting, EXTENSIONS, opened, START } from './setting.ts'

describe('an approval', () => {
  test('records the approved key, the person, the time, the expiry and the number of uses', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    await call(session)
    await call(session)
    await setting.clock.advance(1_000)
    await call(session)
    const [approval, ...more] = await setting.approvals.list()
    expect(more).toEqual([])
    expect(approval).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/), scope: 'project', status: 'standing', ended: null, tool: 'echo',
      approvalKey: 'Oslo',
      covers: 'every call with the key "Oslo"',
      origin: { layer: 'global', extension: 'sample', version: '1.0.0', digest: expect.any(String) },
      digests: { package: expect.any(String), tool: expect.any(String), capability: expect.any(String) },
      workspace: '/work space', sessionId: session.id, grantedAt: START, grantedBy: 'person',
      expiresAt: '2026-01-31T00:00:00.000Z', uses: 2, lastUsedAt: '2026-01-01T00:00:01.000Z', answers: ['the mode'],
    })
    expect(session.approvals()).toEqual([approval])
  })

  test('names the person who answered, if known', async () => {
    const { world } = createSetting()
    const session = await world.host.openSession({
      approver: { approve: async () => ({ decision: 'session', by: 'Ada' }) },
    })
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
    const elsewhere = createWorld({
      extensions: EXTENSIONS, clock: setting.clock, store: setting.store, workspace: '/elsewhere',
    })
    await call((await opened({ world: elsewhere }, 'project')).session)
    const count = async (...filter: Parameters<typeof setting.approvals.list>) =>
      (await setting.approvals.list(...filter)).length
    expect(await count()).toBe(3)
    expect(await count({ tool: 'echo' })).toBe(2)
    expect(await count({ session: session.id })).toBe(1)
    expect(await count({ session: second.id, tool: 'other' })).toBe(1)
    expect(await count({ workspace: '/elsewhere' })).toBe(1)
    expect(await count({ everywhere: true })).toBe(4)
    await session.close()
    expect(await count()).toBe(2)
  })

  test('of a sub-agent belongs to the sub-agent', async () => {
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

describe('revoking', () => {
  test.each(['session', 'project'] as const)('an approval for the %s affects the next call', async (scope) => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, scope)
    await call(session)
    await call(session, 'Bergen')
    const { id } = session.approvals().find(({ approvalKey }) => approvalKey === 'Oslo')!
    // Not awaited: the call is made while the store is being written.
    const revoking = setting.approvals.revoke(id, 'Ada')
    await call(session)
    expect(asked()).toBe(3)
    expect(await revoking).toMatchObject([{ id, status: 'revoked', ended: { how: 'revoked', by: 'Ada' } }])
    await call(session, 'Bergen')
    expect(asked()).toBe(3)
    expect(setting.world.eventsOf('ApprovalRevoked')).toMatchObject([{ approvalId: id, scope, revokedBy: 'Ada' }])
  })

  test('ends every approval that matches the filter, and no other', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    for (const city of ['Oslo', 'Bergen']) await call(session, city)
    await call(session, 'Oslo', 'other')
    expect((await setting.approvals.revoke({ tool: 'echo' })).map(({ approvalKey }) => approvalKey).toSorted()).toEqual(
      ['Bergen', 'Oslo'],
    )
    expect(session.approvals()).toMatchObject([{ tool: 'other' }])
    expect(await setting.approvals.revoke({ tool: 'echo' })).toEqual([])
  })

  test.each(['none', ''])('refuses the id %j', async (id) => {
    await expect(createSetting().approvals.revoke(id)).rejects.toMatchObject({ code: 'NotFound' })
  })

  test('in another process affects the next call here, and so does a grant there', async () => {
    const setting = createSetting()
    const { session, asked } = await opened(setting, 'project')
    await call(session)
    await setting.world.host.flush()
    const outside = openApprovals(setting.store, setting.clock)
    const [approval] = await outside.list()
    await outside.revoke(approval!.id, 'somebody else')
    await setting.clock.advance(1)
    await call(session)
    expect(asked()).toBe(2)
    const other = createWorld({ extensions: EXTENSIONS, clock: setting.clock, store: setting.store })
    await call((await opened({ world: other }, 'project')).session, 'Bergen')
    await other.host.flush()
    await setting.clock.advance(1)
    await call(session, 'Bergen')
    expect(asked()).toBe(2)
  })

  test('persists in the next host', async () => {
    const setting = createSetting()
    await call((await opened(setting, 'project')).session)
    await setting.approvals.revoke({}, 'Ada')
    await setting.world.host.flush()
    const next = createWorld({ extensions: EXTENSIONS, clock: setting.clock, store: setting.store })
    const { session, asked } = await opened({ world: next }, 'once')
    await call(session)
    expect(asked()).toBe(1)
    expect(await next.host.approvals.list({ ended: true })).toMatchObject([
      { status: 'revoked', uses: 0, ended: { by: 'Ada' } },
    ])
  })

  test('by id works across projects, once, and keeps a newer grant', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    await call(session)
    await setting.world.host.flush()
    const elsewhere = createWorld({
      extensions: EXTENSIONS, clock: setting.clock, store: setting.store, workspace: '/elsewhere',
    }).host.approvals
    const [approval] = await setting.approvals.list()
    expect(await elsewhere.list()).toEqual([])
    expect(await elsewhere.revoke(approval!.id, 'Ada')).toMatchObject([
      { id: approval!.id, status: 'revoked', ended: { by: 'Ada' } },
    ])
    await expect(elsewhere.revoke(approval!.id, 'Eve')).rejects.toMatchObject({ code: 'NotFound' })
    expect(await setting.approvals.list({ ended: true })).toMatchObject([{ ended: { by: 'Ada' } }])
    expect(setting.world.eventsOf('ApprovalRevoked')).toEqual([])
  })

  test('outside of a host is audited', async () => {
    const setting = createSetting()
    await call((await opened(setting, 'project')).session)
    await setting.world.host.flush()
    const outside = openApprovals(setting.store, setting.clock)
    await outside.revoke({ tool: 'echo' }, 'Ada')
    const types = (await setting.store.records()).map(({ record }) => (record as { type: string }).type)
    expect(types.filter((type) => type.startsWith('Approval'))).toEqual(['ApprovalGranted', 'ApprovalRevoked'])
  })

  test('that the store cannot save is reported, and holds in this process', async () => {
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

  test('is not undone by uses that are counted later', async () => {
    const setting = createSetting()
    const { session } = await opened(setting, 'project')
    await call(session)
    await call(session)
    await setting.approvals.revoke({})
    await setting.world.host.flush()
    expect(await setting.approvals.list({ ended: true })).toMatchObject([{ status: 'revoked', uses: 1 }])
  })
})

/** A project approval of one host, and another host with the same store. */
async function twoHosts() {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await setting.world.host.flush()
  const other = createWorld({ extensions: EXTENSIONS, clock: setting.clock, store: setting.store })
  const { session: second } = await opened({ world: other }, 'once')
  return { setting, session, other, second }
}

test('uses of several hosts are added', async () => {
  const { setting, session, other, second } = await twoHosts()
  for (const one of [session, second, second]) expect(verdictOf(await call(one))).toBe('output')
  await Promise.all([setting.world.host.flush(), other.host.flush()])
  expect(await setting.approvals.list()).toMatchObject([{ uses: 3 }])
})

test('uses that the store could not save are saved later', async () => {
  const setting = createSetting({ config: { audit: { enabled: false } } })
  const { session } = await opened(setting, 'project')
  await call(session)
  await call(session)
  setting.store.failing = true
  await setting.world.host.flush().catch(() => undefined)
  setting.store.failing = false
  await setting.clock.advance(1)
  await call(session)
  await setting.world.host.flush()
  expect(await setting.approvals.list()).toMatchObject([
    { uses: 2, lastUsedAt: new Date(setting.clock.now()).toISOString() },
  ])
})

test('uses of other hosts are visible after the next read, and the last use is the latest one', async () => {
  const { setting, session, other, second } = await twoHosts()
  await setting.clock.advance(1_000)
  await call(second)
  const last = new Date(setting.clock.now()).toISOString()
  await other.host.flush()
  await setting.clock.advance(10)
  const explained = await session.explain({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  expect(explained).toMatchObject({ decision: 'allow', approvals: [{ uses: 1, lastUsedAt: last }] })
})

test('approvals are listed from the oldest', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  const { session: own } = await opened(setting, 'session')
  for (const [city, by] of [['Oslo', session], ['Bergen', own], ['Alta', session]] as const) {
    await call(by, city)
    await setting.clock.advance(1_000)
  }
  expect((await setting.approvals.list()).map(({ approvalKey }) => approvalKey)).toEqual(['Oslo', 'Bergen', 'Alta'])
  expect((await setting.approvals.revoke({})).map(({ approvalKey }) => approvalKey)).toEqual(['Oslo', 'Bergen', 'Alta'])
})

test('uses are written in the background', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await call(session)
  expect(await setting.store.list('approval')).toMatchObject([{ value: { uses: 0 } }])
  await setting.clock.advance(2_000)
  expect(await setting.store.list('approval')).toMatchObject([{ value: { uses: 1 } }])
})

test('late counts are not added to a newer grant', async () => {
  const setting = createSetting()
  const { session } = await opened(setting, 'project')
  await call(session)
  await call(session)
  const outside = openApprovals(setting.store, setting.clock)
  await outside.revoke({})
  await setting.clock.advance(1)
  await call(session)
  await setting.world.host.flush()
  expect(await setting.approvals.list()).toMatchObject([{ uses: 0 }])
})
