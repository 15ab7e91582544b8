import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { createHost, openSqliteStore } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-state-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const COUNTER = `export default { tools: { count: { async execute(_, runtime) {
  const count = (await runtime.state.read() ?? 0) + 1
  await runtime.state.write(count)
  return count
} } } }`

async function countOnce(store: boolean): Promise<unknown> {
  const host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE, config: IN_THREADS,
    ...(store ? { store: await openSqliteStore({ file: join(folder, 'host.db') }) } : {}),
  })
  const session = await host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c1', name: 'count', arguments: {} })
  await host.close()
  return outcome.type === 'output' ? outcome.data : outcome.error_text
}

it('a tool finds its state after a restart of the host with a durable store', async () => {
  writeExtension(
    join(folder, 'home'),
    { id: 'counter', stateSlot: { slotVersion: '1', schema: { type: 'integer' } }, tools: [{ name: 'count' }] },
    COUNTER,
  )
  expect(await countOnce(true)).toBe(1)
  expect(await countOnce(true)).toBe(2)
  expect(await countOnce(false)).toBe(1)
})

const NAMED = `export default {
  migrateState: ({ slotVersion, data }) => ({ slotVersion: '2', data: { count: data, from: slotVersion } }),
  tools: { count: { async execute(_, runtime) {
    const state = await runtime.state.read()
    await runtime.state.write({ ...state, count: state.count + 1 })
    return runtime.state.read()
  } } },
}`

it('a new version of an extension keeps the state of the old one', LONG, async () => {
  const home = join(folder, 'home')
  const slot = { slotVersion: '1', schema: { type: 'integer' } }
  writeExtension(home, { id: 'counter', stateSlot: slot, tools: [{ name: 'count' }] }, COUNTER)
  expect(await countOnce(true)).toBe(1)
  const next = { slotVersion: '2', schema: { type: 'object', required: ['count'] }, driftPolicy: 'migrate' } as const
  writeExtension(home, { id: 'counter', version: '2.0.0', stateSlot: next, tools: [{ name: 'count' }] }, NAMED)
  expect(await countOnce(true)).toEqual({ count: 2, from: '1' })
  expect(await countOnce(true)).toEqual({ count: 3, from: '1' })
  writeExtension(home, { id: 'counter', stateSlot: slot, tools: [{ name: 'count' }] }, COUNTER)
  expect(await countOnce(true)).toMatch(/of version 2 and the extension has 1|SlotDriftRejected/)
})

it('a host closes even if its store cannot be closed', async () => {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const close = store.close.bind(store)
  store.close = async () => {
    await close()
    throw new Error('the disk is gone')
  }
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store })
  expect(await host.close()).toEqual({ stopped: [], faults: [], cancelledCalls: 0 })
})
