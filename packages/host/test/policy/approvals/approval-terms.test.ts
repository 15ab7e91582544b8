import type { ConfigFile, LayerConfig } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { flush, ManualClock } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { createWorld } from '../../twin/world.ts'
import { call, createSetting, DAY_MS, EXTENSIONS, opened } from './setting.ts'

test('a project approval expires after 30 days, and this is reported once', async () => {
  const setting = createSetting()
  const { session, asked } = await opened(setting, 'project')
  await call(session)
  await setting.clock.advance(30 * DAY_MS - 1)
  await call(session)
  expect(asked()).toBe(1)
  await setting.clock.advance(1)
  expect(await setting.approvals.list()).toEqual([])
  expect(await setting.approvals.list({ ended: true })).toMatchObject([
    { status: 'expired', ended: { how: 'expired' }, uses: 1 },
  ])
  const { session: other, asked: askedOther } = await opened(setting, 'once')
  await call(other)
  await call(other)
  expect(askedOther()).toBe(2)
  await setting.world.host.flush()
  expect(setting.world.eventsOf('ApprovalExpired')).toMatchObject([
    { scope: 'project', tool: 'echo', approvalKey: 'Oslo' },
  ])
})

test('a new grant has a new term, and its uses start at zero', async () => {
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
  ['by default', [], '2026-01-31'],
  ['as the user configures', [layer('global', { projectDays: 90 })], '2026-04-01'],
  ['as a project shortens it', [layer('project', { projectDays: 1 })], '2026-01-02'],
  ['which a project cannot extend', [layer('project', { projectDays: 365 })], '2026-01-31'],
  [
    'which a project cannot extend beyond that of the user',
    [layer('global', { projectDays: 7 }), layer('project', { projectDays: 20 })], '2026-01-08',
  ],
  [
    'which an embedder can extend', [layer('global', { projectDays: 7 }), layer('embedder', { projectDays: 10 })],
    '2026-01-11',
  ],
])('for a project, %s', async (_, layers, until) => {
  const setting = createSetting({ layers })
  await call((await opened(setting, 'project')).session)
  expect(await setting.approvals.list()).toMatchObject([{ expiresAt: `${until}T00:00:00.000Z` }])
})

describe('approvals for a project are off until they are enabled', () => {
  const answered = async (layers: readonly LayerConfig[]) => {
    const setting = createSetting({ layers, sessionsOnly: true })
    await call((await opened(setting, 'project')).session)
    return (await setting.approvals.list()).map(({ scope }) => scope)
  }
  const on = layer('global', { project: true })

  test.each<[string, readonly LayerConfig[], string]>([
    ['by default', [], 'session'],
    ['by the user', [on], 'project'],
    ['by the embedder', [layer('embedder', { project: true })], 'project'],
    ['not by a project', [layer('project', { project: true })], 'session'],
    ['unless a project forbids it', [on, layer('project', { project: false })], 'session'],
    ['unless the machine forbids it', [on, layer('machine', { project: false })], 'session'],
    ['unless the embedder does', [on, layer('embedder', { project: false })], 'session'],
  ])('the answer has the expected scope: %s', async (_, layers, scope) => {
    expect(await answered(layers)).toEqual([scope])
  })

  test('the question does not offer them', async () => {
    const offered = async (layers: readonly LayerConfig[]) => {
      const approver = new ScriptedApprover('once')
      const { world } = createSetting({ layers, sessionsOnly: true })
      await call(await world.host.openSession({ approver }))
      return approver.asked[0]!.answers.map(({ decision }) => decision)
    }
    expect(await offered([])).toEqual(['once', 'session'])
    expect(await offered([on])).toEqual(['once', 'session', 'project'])
  })

  test('an approval that is stored counts only while they are enabled', async () => {
    const setting = createSetting({ layers: [on], sessionsOnly: true })
    await call((await opened(setting, 'project')).session)
    await setting.world.host.flush()
    const later = createWorld({
      extensions: EXTENSIONS, clock: setting.clock, store: setting.store, sessionsOnly: true,
    })
    const { session, asked } = await opened({ world: later }, 'once')
    const { chain } = await session.explain({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
    await call(session)
    expect(asked()).toBe(1)
    expect(session.approvals()).toEqual([])
    expect(chain.map(({ reason }) => reason)).toContainEqual(
      expect.stringMatching(/^the project approval \w+ of the key does not count: approvals for projects are off/))
  })
})

test('a session approval expires after the configured minutes', async () => {
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

test.each(['session', 'project'] as const)(
  'an approval for the %s does not last longer if the clock is set back',
  async (scope) => {
    const clock = new (class extends ManualClock {
      setBackMs = 0
      override now(): number {
        return super.now() - this.setBackMs
      }
    })()
    const setting = createSetting({ clock, layers: [layer('global', { sessionMinutes: 10 })] })
    const { session, asked } = await opened(setting, scope)
    await call(session)
    clock.setBackMs = 5_000
    await call(session)
    expect(asked()).toBe(1)
    clock.setBackMs = DAY_MS
    expect(await session.explain({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })).toMatchObject({
      decision: 'ask',
    })
    await call(session)
    expect(asked()).toBe(2)
    await call(session)
    expect(asked()).toBe(2)
  },
)

test('approvals that ended long ago are deleted', async () => {
  const setting = createSetting()
  await call((await opened(setting, 'project')).session)
  await setting.clock.advance((30 + 91) * DAY_MS)
  const later = createWorld({ extensions: EXTENSIONS, clock: setting.clock, store: setting.store })
  await later.host.openSession()
  await flush()
  expect(await setting.store.list('approval')).toEqual([])
})
