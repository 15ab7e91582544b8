import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf } from '../twin/world.ts'

const CALL = { id: 'c1', name: 'echo', arguments: {} }

/** A store whose audit cannot be written while `isFull`. */
class FullStore extends MemoryStore {
  isFull = true
  override async append(record: Parameters<MemoryStore['append']>[0]): Promise<number> {
    if (this.isFull) throw new Error('no space left')
    return super.append(record)
  }
}

test('a required audit that cannot be written denies before a person is asked, and explain agrees', async () => {
  const store = new FullStore()
  const approver = new ScriptedApprover('once')
  const world = createWorld({
    store, config: { audit: { require: true } },
    extensions: [{ tools: { echo: { gated: true } } }],
  })
  const session = await world.host.openSession({ approver })
  // The first lost record shows that the audit cannot be written.
  await world.host.flush().catch(() => {})
  expect(await session.explain(CALL)).toMatchObject({ decision: 'deny', code: 'StoreUnavailable' })
  expect(verdictOf(await session.call(CALL))).toBe('StoreUnavailable')
  expect(approver.asked).toEqual([])
  expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([{ decision: 'deny', stage: 'audit', source: 'audit' }])

  store.isFull = false
  await world.host.flush().catch(() => {})
  await session.call({ ...CALL, id: 'recovers' })
  expect(await session.explain(CALL)).toMatchObject({ decision: 'ask' })
  expect(verdictOf(await session.call({ ...CALL, id: 'c2' }))).toBe('output')
})

test('a host without an audit denies every call if an audit is required', async () => {
  const approver = new ScriptedApprover('once')
  const world = createWorld({
    store: Object.assign(new MemoryStore(), { forgets: true as const }), config: { audit: { require: true } },
    extensions: [{ tools: { echo: { gated: true } } }],
  })
  const session = await world.host.openSession({ approver })
  expect(await session.explain(CALL)).toMatchObject({ decision: 'deny', code: 'StoreUnavailable' })
  expect(verdictOf(await session.call(CALL))).toBe('StoreUnavailable')
  expect(approver.asked).toEqual([])
})
