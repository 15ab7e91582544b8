import { expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch } from '../twin/world.ts'

async function keyOf(tool: ToolSketch, args: object = { command: 'git push' }) {
  const approver = new ScriptedApprover('once')
  const world = createWorld({ extensions: [{ tools: { echo: tool } }] })
  const session = await world.host.openSession({ approver })
  const outcome = await session.call({ id: 'c1', name: 'echo', arguments: args })
  return { key: approver.asked[0]?.approvalKey, verdict: verdictOf(outcome), world }
}

test('a template gives the key in the host, before any code runs', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ tools: { echo: { approvalKey: 'run:{command}' } } }] })
  const approver = new ScriptedApprover()
  const session = await world.host.openSession({ approver })
  const outcome = session.call({ id: 'c1', name: 'echo', arguments: { command: 'git' } })
  await flush()
  expect(approver.asked[0]?.approvalKey).toBe('run:git')
  expect(world.sandbox.requests).toEqual([])
  approver.answer('reject')
  expect(verdictOf(await outcome)).toBe('ApprovalDenied')
  expect(world.sandbox.requests).toEqual([])
})

test('code gives the key in the compartment', async () => {
  expect(
    await keyOf({ deriveApprovalKey: (args) => String(args['command']).split(' ')[0] }),
  ).toMatchObject({ key: 'git', verdict: 'output' })
})

test('the default key is the name of the tool', async () => {
  expect(await keyOf({})).toMatchObject({ key: 'echo', verdict: 'output' })
})

test.each<[string, ToolSketch['deriveApprovalKey'] & {}, string]>([
  ['throws', () => { throw new Error('no idea') }, 'ApprovalKeyDerivationFailed'],
  ['returns nothing', () => undefined, 'ApprovalKeyInvalid'],
  ['returns a control character', () => 'a\u0007', 'ApprovalKeyInvalid'],
  ['returns too much', () => 'x'.repeat(2_000), 'ApprovalKeyInvalid'],
])('a key function that %s denies the call', async (_, deriveApprovalKey, code) => {
  const { verdict, world } = await keyOf({ deriveApprovalKey })
  expect(verdict).toBe(code)
  expect(world.eventsOf('ToolInvocationStarted')).toEqual([])
})

test('a key function that takes too long denies the call, and cancelling does not wait for it', async () => {
  const clock = new ManualClock()
  const world = createWorld({
    clock, extensions: [{ tools: { echo: { deriveApprovalKey: () => new Promise(() => {}) } } }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const slow = session.call({ id: 'c1', name: 'echo', arguments: {} })
  await clock.advance(1_000)
  expect(verdictOf(await slow)).toBe('ApprovalKeyDerivationFailed')
  const cancel = new AbortController()
  const cancelled = session.call({ id: 'c2', name: 'echo', arguments: {} }, { signal: cancel.signal })
  await flush()
  cancel.abort()
  expect(verdictOf(await cancelled)).toBe('ToolCancelled')
  expect(clock.pending).toBe(0)
})

test('a key that is not needed is not derived', async () => {
  let derived = 0
  const { verdict } = await keyOf({ gated: false, deriveApprovalKey: () => { derived += 1; return 'k' } })
  expect(verdict).toBe('output')
  expect(derived).toBe(0)
})
