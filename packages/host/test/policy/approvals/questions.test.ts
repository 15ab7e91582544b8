import type { ConfigFile, Rule } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import type { CallCheck, SessionOptions } from '../../../src/index.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { createWorld, verdictOf, type World } from '../../twin/world.ts'

const asking = (pattern = '*'): Rule => ({ permission: 'echo', pattern, action: 'ask' })
const cautious: CallCheck = function cautious() {
  return { action: 'ask', reason: 'hm' }
}
const ASKERS: readonly (readonly [string, SessionOptions])[] = [
  ['a rule', { rules: [asking()] }], ['a watchdog', { watchdog: cautious }], ['a guard', { guards: [cautious] }],
]
const worldOf = (config: ConfigFile = {}, store?: World['store']): World =>
  createWorld({ config, ...(store && { store }), extensions: [{ tools: { echo: { approvalKey: '{city}' } } }] })
const CALL = { id: 'c', name: 'echo', arguments: { city: 'Oslo' } }

/** How often a person is asked about a call in a new session with these options. */
async function asked(world: World, options: SessionOptions, args: object = CALL.arguments) {
  const approver = new ScriptedApprover('project')
  const session = await world.host.openSession({ approver, ...options })
  const explained = await session.explain({ ...CALL, arguments: args as typeof CALL.arguments })
  expect(verdictOf(await session.call({ ...CALL, arguments: args as typeof CALL.arguments }))).toBe('output')
  expect(explained.decision).toBe(approver.asked.length === 0 ? 'allow' : 'ask')
  return {
    count: approver.asked.length, reasons: approver.asked[0]?.reasons,
    words: approver.asked[0]?.answers.map(({ words }) => words), explained,
  }
}

describe.each(ASKERS)('%s that asks', (_, options) => {
  test.each(['ask', 'allowlist', 'yolo'] as const)(
    'is a question in mode %s, and a deny without a person',
    async (mode) => {
      const world = worldOf({ allowlist: ['echo'] })
      const session = await world.host.openSession({ mode, ...options })
      expect(await session.explain(CALL)).toMatchObject({ decision: 'deny', code: 'ApprovalDenied' })
      expect(verdictOf(await session.call(CALL))).toBe('ApprovalDenied')
      expect((await asked(world, { mode, ...options })).count).toBe(1)
    },
  )

  test('is the only reason in a mode that answers itself', async () => {
    const { reasons } = await asked(worldOf(), { mode: 'yolo', ...options })
    expect(reasons).toHaveLength(1)
  })

  test('is answered by an approval that was given to it, and by no other', async () => {
    const world = worldOf()
    expect((await asked(world, {})).count).toBe(1)
    expect((await asked(world, {})).count).toBe(0)
    const first = await asked(world, options)
    expect(first.count).toBe(1)
    expect(first.explained.chain.map(({ reason }) => reason).join()).toMatch(
      /approval \w+ of the key answers the mode, and something else asks/,
    )
    const again = await asked(world, options)
    expect(again.count).toBe(0)
    expect(again.explained.approvals[0]?.answers).toHaveLength(2)
    expect(again.explained.chain.at(-1)?.reason).toMatch(
      /which answers the mode, (?:the embedder rule "echo \*"|(?:watchdog|guard) cautious for the same arguments)/,
    )
    expect((await asked(world, {})).count).toBe(0)
  })
})

test('a changed or a further rule asks again', async () => {
  const world = worldOf()
  await asked(world, { rules: [asking()] })
  expect((await asked(world, { rules: [asking()] })).count).toBe(0)
  expect((await asked(world, { rules: [asking('O*')] })).count).toBe(1)
  expect((await asked(world, { rules: [asking(), asking('Os*')] })).count).toBe(1)
  expect((await asked(world, { rules: [asking('Os*'), asking()] })).count).toBe(0)
})

test('a watchdog asks again about other arguments', async () => {
  const world = worldOf()
  const { words } = await asked(world, { mode: 'yolo', watchdog: cautious })
  expect(words).toEqual([
    'this call', 'the same call in this session', 'the same call in every session of this project',
  ])
  await asked(world, { watchdog: cautious })
  expect((await asked(world, { watchdog: cautious }, { city: 'Oslo', days: 2 })).count).toBe(1)
  expect((await asked(world, { watchdog: cautious })).count).toBe(0)
})

test('a watchdog without a name asks each time', async () => {
  const world = worldOf()
  const options = { watchdog: [() => ({ action: 'ask', reason: 'hm' })] as readonly CallCheck[] }
  await asked(world, options)
  expect((await asked(world, options)).count).toBe(1)
  expect((await asked(world, { ...options, mode: 'yolo' })).words).toEqual(['this call'])
})

test('an approval of an earlier version answers the mode only', async () => {
  const world = worldOf()
  await asked(world, { rules: [asking()] })
  await world.host.flush()
  for (const { key, value } of await world.store.list('approval', '')) {
    const { answers: _, ...earlier } = value as Record<string, never>
    await world.store.write('approval', key, earlier)
  }
  const later = worldOf({}, world.store)
  expect((await asked(later, {})).count).toBe(0)
  expect((await asked(later, { rules: [asking()] })).count).toBe(1)
})

test('the machine may ask', async () => {
  const layers = [{ layer: 'machine' as const, location: 'policy.json', config: { rules: [asking()] } }]
  const world = createWorld({ layers, extensions: [{ tools: { echo: { approvalKey: '{city}' } } }] })
  const session = await world.host.openSession({
    mode: 'yolo', rules: [{ permission: 'echo', pattern: 'Oslo', action: 'allow' }],
  })
  expect(verdictOf(await session.call(CALL))).toBe('ApprovalDenied')
})
