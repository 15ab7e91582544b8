import type { Json, JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { openApprovals } from '../../../src/index.ts'
import { createWorld } from '../../twin/world.ts'
import { call, createSetting, EXTENSIONS, opened } from './setting.ts'

/** A store with one approval of Oslo that was modified. */
async function damagedSetting(change: (whole: JsonObject) => Json) {
  const setting = createSetting()
  await call((await opened(setting, 'project')).session)
  await setting.world.host.flush()
  const [{ key, value } = { key: '', value: null }] = await setting.store.list('approval')
  await setting.store.write('approval', key, change(value as JsonObject))
  const world = createWorld({ extensions: EXTENSIONS, clock: setting.clock, store: setting.store })
  return { ...setting, world, id: (value as JsonObject)['id'] as string }
}

test.each<[string, (whole: JsonObject) => Json]>([
  ['nothing', () => null], ['a list', () => []], ['no tool', ({ tool: _, ...rest }) => rest],
  ['no name of who gave it', ({ grantedBy: _, ...rest }) => rest],
  ['another key', (whole) => ({ ...whole, approvalKey: 'Bergen' })],
  ['another project', (whole) => ({ ...whole, workspace: '/elsewhere' })],
  ['another id', (whole) => ({ ...whole, id: 'ffffffffffff' })],
  ['another origin', (whole) => ({ ...whole, origin: { layer: 'bundled', extension: 'sample', version: '1' } })],
  ['no origin', (whole) => ({ ...whole, origin: {} })],
  ['a time that is none', (whole) => ({ ...whole, grantedAt: 'once' })],
  ['no end', (whole) => ({ ...whole, expiresAt: null })],
  ['a use at no time', (whole) => ({ ...whole, lastUsedAt: 7 })],
  ['an end of no kind', (whole) => ({ ...whole, ended: {} })], ['half a use', (whole) => ({ ...whole, uses: 0.5 })],
])('a stored approval with %s answers nothing, is reported once, and is removed by revoking', async (_, change) => {
  const { world, store, clock, id } = await damagedSetting(change)
  const { session, asked } = await opened({ world }, 'once')
  for (const city of ['Oslo', 'Bergen']) await call(session, city)
  expect(asked()).toBe(2)
  expect(world.eventsOf('SuppressedError')).toMatchObject([
    { source: 'reading project approvals', message: expect.stringContaining(id) },
  ])
  const book = openApprovals(store, clock)
  expect([await book.list(), await book.damaged(), await book.damaged({ tool: 'echo' })]).toEqual([
    [], [{ id, damage: expect.any(String) }], [],
  ])
  expect([await book.revoke({ tool: 'echo' }), await store.list('approval')]).toMatchObject([[], [{}]])
  expect([await world.host.approvals.revoke(id), await store.list('approval')]).toEqual([[], []])
  await expect(book.revoke(id)).rejects.toMatchObject({ code: 'NotFound' })
})

test('a new grant replaces it', async () => {
  const { world, store } = await damagedSetting(() => null)
  const { session, asked } = await opened({ world }, 'project')
  for (let times = 0; times < 2; times++) await call(session)
  expect(asked()).toBe(1)
  await world.host.flush()
  expect(await openApprovals(store).damaged()).toEqual([])
})

test('an approval of an earlier version covers its folder, except files that need an answer of their own', async () => {
  const reads = (key: string, more: object) =>
    new Map([
      [
        'echo',
        (args: JsonObject) => ({
          key: key === '' ? String(args['path']) : key, touches: [], asks: [], denies: [],
          subjects: [
            {
              key: key === '' ? String(args['path']) : key, ...more,
              place: { kind: 'file' as const, path: `/work space/${args['path']}` },
            },
          ],
        }),
      ],
    ])
  const extensions = [{ layer: 'bundled' as const }]
  const setting = createSetting({ extensions, argumentsReaders: reads('src', {}) })
  await (await opened(setting, 'project')).session.call({ id: 'c', name: 'echo', arguments: { path: 'src/a' } })
  await setting.world.host.flush()
  const [{ key, value } = { key: '', value: null }] = await setting.store.list('approval')
  const { covers: _, ...earlier } = value as JsonObject
  const asks = async (stored: JsonObject, path: string) => {
    await setting.store.write('approval', key, stored)
    const world = createWorld({
      extensions, clock: setting.clock, store: setting.store, argumentsReaders: reads('', { within: ['src/', './'] }),
    })
    const { session, asked } = await opened({ world }, 'once')
    await session.call({ id: 'c', name: 'echo', arguments: { path } })
    return asked()
  }
  expect([await asks(earlier, 'src/b'), await asks(earlier, 'src/package.json')]).toEqual([0, 1])
  // Of this version it is a file.
  expect(await asks(value as JsonObject, 'src/b')).toBe(1)
})
