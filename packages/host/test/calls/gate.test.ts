import { expect, test } from 'vitest'
import { ScriptedApprover } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { createWorld, verdictOf, type WorldSketch } from '../twin/world.ts'

const call = (name = 'echo') => ({ id: 'c', name, arguments: {} })
const FROZEN = { by: 'Ada', reason: 'wrong customer' }

async function opened(sketch: WorldSketch = {}, approver = new ScriptedApprover('once')) {
  const world = createWorld(sketch)
  return { world, approver, session: await world.host.openSession({ approver }) }
}

test('a frozen host starts no call, says who froze it, and asks no one', async () => {
  let ran = 0
  const { world, session, approver } = await opened({
    extensions: [{ tools: { echo: { gated: true, execute: () => ++ran }, free: { execute: () => ++ran } } }],
  })
  const { freeze, unconfirmed } = await world.host.freeze(FROZEN)
  expect([freeze.by, unconfirmed]).toEqual(['Ada', []])
  for (const name of ['echo', 'free']) {
    expect(await session.call(call(name))).toMatchObject({
      error: {
        code: 'HostFrozen', class: 'Session', retryable: true,
        data: { by: 'Ada', reason: 'wrong customer', since: expect.stringMatching(/Z$/) },
      },
      error_text: expect.stringMatching(/not started: Ada froze all hosts at .*: wrong customer.*`bulkhead thaw`/),
      metadata: { attempt: 0 },
    })
  }
  expect([ran, approver.asked.length]).toEqual([0, 0])
  expect(await world.host.thaw()).toEqual(freeze)
  expect(verdictOf(await session.call(call('free')))).toBe('output')
})

test('explain says that a host is frozen, and who froze it', async () => {
  const { world, session } = await opened({ extensions: [{ tools: { echo: { gated: false } } }] })
  expect(await session.explain(call())).toMatchObject({ decision: 'allow' })
  await world.host.freeze(FROZEN)
  expect(await session.explain(call())).toMatchObject({
    decision: 'deny', code: 'HostFrozen', remedies: [expect.stringContaining('bulkhead thaw')],
    chain: expect.arrayContaining([
      expect.objectContaining({ stage: 'freeze', action: 'deny', source: 'freeze by Ada' }),
    ]),
  })
})

test('a further attempt, a nested call and a call that waited for a person pass the gate', async () => {
  const approver = new ScriptedApprover()
  const runs: string[] = []
  const { world, session } = await opened({
    config: { retries: { backoffBase: 0, jitterMs: 0 } },
    extensions: [{ tools: {
      busy: {
        gated: false,
        execute: async () => {
          runs.push('busy')
          await world.host.freeze(FROZEN)
          throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
        },
      },
      outer: {
        gated: false,
        requires: { fs: { read: ['{workspace}'] }, capabilities: ['tools.call'] },
        execute: async (_, { services, callId, signal }) => {
          runs.push('outer')
          await world.host.freeze(FROZEN)
          const outcome = await services.callTool!(callId, 'inner', {}, signal)
          return (outcome as { readonly error?: { readonly code: string } }).error?.code
        },
      },
      inner: { gated: false, execute: () => runs.push('inner') },
      asks: { gated: true, execute: () => runs.push('asks') },
    } }],
  }, approver)
  const free = await world.host.openSession({ mode: 'yolo' })
  expect(verdictOf(await free.call(call('busy')))).toBe('HostFrozen')
  await world.host.thaw()
  const outer = await free.call(call('outer'))
  expect(JSON.stringify(outer)).toContain('HostFrozen')
  await world.host.thaw()
  const pending = session.call(call('asks'))
  await expect.poll(() => approver.asked.length).toBe(1)
  await world.host.freeze(FROZEN)
  approver.answer('once')
  expect(verdictOf(await pending)).toBe('HostFrozen')
  expect(runs).toEqual(['busy', 'outer'])
})

test('a call that waited for its compartment passes the gate again', async () => {
  let ran = 0
  const { world, session } = await opened({
    extensions: [{
      tools: { echo: { execute: () => ++ran } },
      phases: { activate: async () => void await world.host.freeze(FROZEN) },
    }],
  })
  expect([verdictOf(await session.call(call())), ran]).toEqual(['HostFrozen', 0])
})

test('a freeze can cancel what runs, and sessions go on', async () => {
  const running = Promise.withResolvers<void>()
  const { world, session } = await opened({
    extensions: [{ tools: { echo: { execute: () => { running.resolve(); return new Promise(() => {}) } }, free: {} } }],
  })
  const pending = session.call(call())
  await running.promise
  await world.host.freeze({ ...FROZEN, cancel: true })
  expect(await pending).toMatchObject({
    error: { code: 'ToolCancelled' }, error_text: expect.stringMatching(/Ada froze all hosts.*wrong customer/),
  })
  await world.host.thaw()
  expect(verdictOf(await session.call(call('free')))).toBe('output')
})

test('a call is decided again while approvals change, but not for ever', async () => {
  const store = new MemoryStore()
  let ran = 0
  const sketch: WorldSketch = { store, extensions: [{ tools: { echo: { gated: true, execute: () => ++ran } } }] }
  const { world, session, approver } = await opened(sketch, new ScriptedApprover('project'))
  await session.call(call())
  await world.host.flush()
  // Another host that gives approvals all the time.
  const { list } = MemoryStore.prototype
  let changes = 0
  store.list = async (collection, prefix) => {
    const found = await list.call(store, collection, prefix)
    if (collection === 'approval') await store.write('approval', `other/${++changes}`, {})
    return found
  }
  await store.write('approval', 'other', {})
  expect(await session.call(call())).toMatchObject({
    error: { code: 'StoreUnavailable' }, error_text: expect.stringMatching(/changed 16 times/),
  })
  store.list = list
  expect(verdictOf(await session.call(call()))).toBe('output')
  expect([ran, approver.asked.length]).toEqual([2, 1])
})
