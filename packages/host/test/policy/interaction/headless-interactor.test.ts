import { expect, test } from 'vitest'
import type { PermissionRequired } from '../../../src/index.ts'
import { createHeadlessInteractor } from '../../../src/embedder.ts'
import { ScriptedInteractor } from '../../twin/people.ts'
import { createWorld, verdictOf, type TwinRuntime } from '../../twin/world.ts'

const ASKING = {
  extensions: [{
    tools: {
      echo: {},
      ask: {
        requires: { capabilities: ['interact' as const] }, mode: 'safe_write' as const, gated: false,
        execute: (_: unknown, { services, callId, signal }: TwinRuntime) =>
          services.interact!(callId, { kind: 'Ask', prompt: '?' }, signal),
      },
    },
  }],
}
const call = (name: string) => ({ id: 'c', name, arguments: {} })

test('stud: every kind of question is denied, and the operator sees the missing permission', async () => {
  const needed: PermissionRequired[] = []
  const interactor = createHeadlessInteractor((required) => needed.push(required))
  const session = await createWorld(ASKING).host.openSession({ interactor })
  expect(verdictOf(await session.call(call('echo')))).toBe('ApprovalDenied')
  expect(verdictOf(await session.call(call('ask')))).toBe('InteractionUnavailable')
  expect(needed).toMatchObject([
    { kind: 'permission-required', requestKind: 'Approve', hint: expect.stringContaining('"echo"') },
    { kind: 'permission-required', requestKind: 'Ask' },
  ])
})

test('explain reports that no person is there, and the denial has one sentence about it', async () => {
  const session = await createWorld(ASKING).host.openSession({ interactor: createHeadlessInteractor() })
  expect(await session.explain(call('echo'))).toMatchObject({ decision: 'deny', code: 'ApprovalDenied' })
  const outcome = await session.call(call('echo'))
  expect(outcome).toMatchObject({ error_text: expect.stringContaining('No one is there to ask.') })
  expect(JSON.stringify(outcome)).not.toContain('..')
})

test.each(['echo', 'ask'])('stud: a session may halt its turn instead, for %s', async (name) => {
  const session = await createWorld(ASKING).host.openSession({
    interactor: createHeadlessInteractor(), headless: 'halt',
  })
  const turn = session.beginTurn()
  expect(await session.call(call(name))).toMatchObject({
    error: { code: 'TurnCancelled', data: { kind: 'permission-required' } }, completion: { terminal: true },
  })
  expect(turn.signal.aborted).toBe(true)
})

test('a session waits for answers only where they can come from', async () => {
  const { host } = createWorld(ASKING)
  await expect(host.openSession({ headless: 'wait' }))
    .rejects.toMatchObject({ code: 'ConfigInvalid', data: { path: '/headless' } })
})

test('yolo needs no person; a person beside the headless interactor answers', async () => {
  const { host } = createWorld(ASKING)
  const yolo = await host.openSession({ mode: 'yolo', interactor: createHeadlessInteractor(), headless: 'halt' })
  expect(verdictOf(await yolo.call(call('echo')))).toBe('output')
  const person = new ScriptedInteractor(() => ({ status: 'accepted', value: 'here' }))
  const both = await host.openSession({ interactor: [createHeadlessInteractor(), person] })
  expect(await both.call(call('ask'))).toMatchObject({ data: { value: 'here' } })
})
