import { expect, test } from 'vitest'
import { flush } from '../../twin/clock.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { MemoryStore } from '../../twin/store.ts'
import { createWorld, verdictOf, type ExtensionSketch, type ToolSketch } from '../../twin/world.ts'

const TOOL: ToolSketch = { approvalKey: '{city}' }
const APPROVED: ExtensionSketch = { tools: { echo: TOOL } }

/** Approves for the project in one host, then calls in another with the same store. Returns whether that asks again. */
async function askedAgain(
  later: ExtensionSketch, options: { city?: string; workspace?: string } = {},
): Promise<boolean> {
  const store = new MemoryStore()
  const first = await createWorld({ store, extensions: [APPROVED] }).host.openSession({
    approver: new ScriptedApprover('project'),
  })
  await first.call({ id: 'c1', name: 'echo', arguments: { city: 'Oslo' } })
  await flush()
  const approver = new ScriptedApprover('once')
  const session = await createWorld({
    store, extensions: [later], ...(options.workspace ? { workspace: options.workspace } : {}),
  }).host.openSession({ approver })
  expect(verdictOf(await session.call({ id: 'c2', name: 'echo', arguments: { city: options.city ?? 'Oslo' } }))).toBe(
    'output',
  )
  return approver.asked.length > 0
}

test('a project approval holds in the next host, for the same tool and key', async () => {
  expect(await askedAgain(APPROVED)).toBe(false)
})

test.each<[string, ExtensionSketch]>([
  ['one byte of the package', { ...APPROVED, bytes: 'changed' }],
  ['the layer', { ...APPROVED, layer: 'project' }],
  ['the extension', { ...APPROVED, id: 'impostor' }],
  ['the description', { tools: { echo: { ...TOOL, description: 'Now it does more.' } } }],
  ['the schema', { tools: { echo: { ...TOOL, inputSchema: { type: 'object', title: 'other' } } } }],
  ['the capabilities', { tools: { echo: { ...TOOL, requires: { fs: { read: ['{workspace}', '{user-data}'] } } } } }],
])('a change of %s requires a new approval', async (_, later) => {
  expect(await askedAgain(later)).toBe(true)
})

test('another key and another workspace require their own approval', async () => {
  expect(await askedAgain(APPROVED, { city: 'Bergen' })).toBe(true)
  expect(await askedAgain(APPROVED, { workspace: '/elsewhere' })).toBe(true)
})

test('"once" covers one call; "session" covers this session', async () => {
  const world = createWorld({ extensions: [APPROVED] })
  const approver = new ScriptedApprover()
  const session = await world.host.openSession({ approver })
  const ask = async (decision: 'once' | 'session') => {
    const outcome = session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
    await flush()
    approver.answer(decision)
    await outcome
  }
  await ask('once')
  await ask('session')
  await session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  expect(approver.asked).toHaveLength(2)
  const other = new ScriptedApprover('once')
  await (await world.host.openSession({ approver: other })).call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  expect(other.asked).toHaveLength(1)
})

test('an approval answers gate, floor and rules, and a watchdog only if it was given to that', async () => {
  const approver = new ScriptedApprover('session')
  let suspicious = false
  const session = await createWorld({ extensions: [{ tools: { echo: { ...TOOL, mode: 'local' } } }] }).host.openSession(
    {
      approver, rules: [{ permission: 'echo', pattern: '*', action: 'ask' }],
      watchdog: () => (suspicious ? { action: 'ask', reason: 'odd' } : undefined),
    },
  )
  const call = () => session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } })
  await call()
  await call()
  expect(approver.asked).toHaveLength(1)
  suspicious = true
  await call()
  await call()
  expect(approver.asked).toHaveLength(2)
})

test('a store that fails leads to a question, grants nothing, and is reported', async () => {
  const store = new MemoryStore()
  store.failing = true
  const world = createWorld({ store, extensions: [APPROVED], config: { audit: { enabled: false } } })
  const approver = new ScriptedApprover('project')
  const session = await world.host.openSession({ approver })
  expect(verdictOf(await session.call({ id: 'c1', name: 'echo', arguments: { city: 'Oslo' } }))).toBe('output')
  await flush()
  expect(approver.asked).toHaveLength(1)
  expect(
    world
      .eventsOf('SuppressedError')
      .map(({ source }) => source)
      .filter((source) => source.includes('project approval')),
  ).toEqual(['reading project approvals', 'keeping project approvals'])
  // It was approved for this session only.
  await session.call({ id: 'c2', name: 'echo', arguments: { city: 'Oslo' } })
  expect(approver.asked).toHaveLength(1)
  store.failing = false
  expect(await store.list('approval')).toEqual([])
})

test('a rejected call stays rejected when another call gets an "always" in the same tick', async () => {
  const world = createWorld({ extensions: [APPROVED] })
  const people = [new ScriptedApprover(), new ScriptedApprover()] as const
  const [first, second] = await Promise.all(people.map((approver) => world.host.openSession({ approver })))
  const outcomes = [first!, second!].map((session) =>
    session.call({ id: 'c', name: 'echo', arguments: { city: 'Oslo' } }),
  )
  await flush()
  people[1].answer('reject', 'not now')
  people[0].answer('project')
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['output', 'ApprovalDenied'])
})

test('an "always" for the project withdraws the same question elsewhere', async () => {
  const world = createWorld({ extensions: [APPROVED] })
  const people = [new ScriptedApprover(), new ScriptedApprover()] as const
  const [first, second] = await Promise.all(people.map((approver) => world.host.openSession({ approver })))
  const call = (city: string) =>
    [first!, second!].map((session) => session.call({ id: 'c', name: 'echo', arguments: { city } }))
  const outcomes = call('Oslo')
  await flush()
  people[0].answer('project')
  expect((await Promise.all(outcomes)).map(verdictOf)).toEqual(['output', 'output'])
  expect(people.map(({ asked }) => asked.length)).toEqual([1, 1])
  expect(await world.host.approvals.list()).toMatchObject([{ uses: 1 }])
})
