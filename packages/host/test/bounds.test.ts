import { Script } from 'node:vm'
import type { ArgumentsReader, BulkheadEvent, CallUse, ChangeStore, ScopedRule } from '@bulkhead/contract'
import { expect, onTestFinished, test, vi } from 'vitest'
import { approvalDiff } from '../src/calls/approval-diff.ts'
import { unrecordedCommands } from '../src/calls/unrecorded-commands.ts'
import { ChangeWatch } from '../src/extensions/reload/report.ts'
import { Validators } from '../src/extensions/schema-checks.ts'
import { idleRules } from '../src/model/idle-rules.ts'
import { CallForms } from '../src/records/audit-forms.ts'
import { recordEffect } from '../src/records/effects.ts'
import { createRedaction } from '../src/records/redaction.ts'
import { DescribedTools } from '../src/sessions/described-tools.ts'
import { flush, ManualClock } from './twin/clock.ts'
import { ScriptedApprover } from './twin/people.ts'
import { createWorld, verdictOf } from './twin/world.ts'

const CALL = { id: 'c', name: 'echo', arguments: {} }
const NEVER = () => new Promise<never>(() => {})

test('a configured deadline is an hour at most', async () => {
  const clock = new ManualClock()
  const config = { tools: { echo: { timeoutMs: 10_000_000 } } }
  const { host } = createWorld({ clock, config, extensions: [{ tools: { echo: { execute: NEVER } } }] })
  const called = (await host.openSession({ mode: 'yolo' })).call(CALL)
  await clock.advance(3_600_000)
  expect(await called).toMatchObject({ error_text: expect.stringContaining('within 3600000 ms') })
})

test.each([
  [128, true], [129, false],
])('the id of a child loop with %i characters is repeated: %s', async (length, isRepeated) => {
  const loop = 'x'.repeat(length)
  const execute = () => ({ type: 'output', data: 1, metadata: { child_loop_id: loop } })
  const { host } = createWorld({ extensions: [{ tools: { echo: { execute } } }] })
  const session = await host.openSession({ mode: 'yolo' })
  expect((await session.call(CALL)).metadata.child_loop_id).toBe(isRepeated ? loop : undefined)
})

test('a compartment that does not close does not block the close of the host', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock })
  await (await world.host.openSession({ mode: 'yolo' })).call(CALL)
  world.compartment().close = NEVER
  const closed = world.host.close()
  await clock.advance(10_000)
  expect(await closed).toMatchObject({ faults: [{ error: { message: expect.stringContaining('did not close') } }] })
})

test('a host that closes gives calls five seconds', async () => {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ tools: { echo: { execute: NEVER } } }] })
  void (await world.host.openSession({ mode: 'yolo' })).call(CALL)
  await flush()
  let isClosed = false
  void world.host.close().then(() => { isClosed = true })
  await clock.advance(4_999)
  expect(isClosed).toBe(false)
  // The call has its own deadline after 30 seconds.
  await clock.advance(10_000)
  expect(isClosed).toBe(true)
})

test('a large value is checked within a second', () => {
  const run = vi.spyOn(Script.prototype, 'runInContext')
  onTestFinished(() => run.mockRestore())
  const check = new Validators().compile({ type: 'object', properties: { a: { type: 'string' } } })
  expect([check({ a: 'x' }, 10), run.mock.calls.length]).toEqual([undefined, 0])
  expect(check({ a: 'x' }, 1e12)).toBeUndefined()
  expect(run).toHaveBeenCalledWith(expect.anything(), { timeout: 1_000 })
})

test('300 rules are compared with each other, and more are not', () => {
  const rules = (count: number): ScopedRule[] => Array.from({ length: count }, (_, index) =>
    ({ permission: 'bash', pattern: '*', action: 'deny', author: 'user', source: `config#/rules/${1_000 + index}` }))
  expect([idleRules(rules(300)).length, idleRules(rules(301)).length]).toEqual([299, 0])
})

test('forms of 1,024 records are kept', () => {
  const forms = new CallForms(createRedaction([]), false)
  const formOf = (index: number) => forms.formOf({
    type: 'ToolInvocationSucceeded', at: '', sessionId: 's', callId: 'c', tool: `t${index}`, origin: null,
    durationMs: 1,
  } as BulkheadEvent as never)
  const first = formOf(0)
  for (let index = 1; index < 1_024; index++) formOf(index)
  expect(formOf(0)).toBe(first)
  formOf(1_024)
  expect(formOf(0)).not.toBe(first)
})

test('an effect of 256 KiB is kept, and no longer one', async () => {
  const added: number[] = []
  const add = async (_: object, content: Uint8Array) => void added.push(content.length)
  const changes = { add } as unknown as ChangeStore
  const record = (chars: number) =>
    recordEffect(changes, { callId: 'c', tool: 'send' } as never, { args: {}, result: 'x'.repeat(chars) })
  const around = '{"args":{},"result":""}'.length
  await record(256 * 1024 - around)
  await expect(record(256 * 1024 - around + 1)).rejects.toMatchObject({ code: 'OutputTooLarge' })
  expect(added).toEqual([256 * 1024])
})

test('1,000 values of an argument are read as the manifest says', async () => {
  const tools = { echo: { requires: { fs: { read: ['{workspace}/**'] } }, touches: { path: 'fs.read' as const } } }
  const approver = new ScriptedApprover('once')
  const session = await createWorld({ workspace: '/ws', extensions: [{ tools }] }).host.openSession({ approver })
  await session.call({ ...CALL, arguments: { path: Array.from({ length: 1_001 }, (_, index) => `f${index}`) } })
  expect(approver.asked[0]?.touches).toHaveLength(1_000)
})

test('an approval answers 64 questions', async () => {
  const guards = Array.from({ length: 65 }, (_, index) =>
    ({ id: `g${index}`, pre: () => ({ action: 'ask' as const, reason: 'sure?' }) }))
  const session = await createWorld().host.openSession({ guards, approver: new ScriptedApprover('session') })
  await session.call(CALL)
  expect(session.approvals()[0]?.answers).toHaveLength(64)
})

test('a tool that repeats a use that is denied puts 100 records into the audit', async () => {
  const world = createWorld({
    workspace: '/ws',
    extensions: [{ tools: { echo: {
      requires: { fs: { read: ['{workspace}/**'] } }, gated: false,
      execute: () => {
        const uses = world.compartment().calls.at(-1)!.uses!
        for (let index = 0; index <= 100; index++) {
          const use: CallUse = { capability: 'fs.read', subject: `/ws/secrets/${index}` }
          uses.deny(use, uses.judge(use.capability, use.subject)!)
        }
      },
    } } }],
  })
  const rules = [{ permission: 'fs.read', pattern: 'secrets/**', action: 'deny' as const }]
  const session = await world.host.openSession({ rules, mode: 'yolo' })
  expect(verdictOf(await session.call(CALL))).toBe('output')
  const denied = world.eventsOf('ToolInvocationDecided').filter(({ decision }) => decision === 'deny')
  expect(denied).toHaveLength(100)
})

test.each<readonly [string, number, (host: never) => Promise<string | undefined>, string | undefined]>([
  ['the diff', 2_000, (host) => approvalDiff(CALLED, { writes: [] } as never, host), undefined],
  [
    'what undo does not record', 2_000, (host) => unrecordedCommands(CALLED, {} as never, host),
    'its folders could not be counted in time',
  ],
])('a question waits only so long for %s', async (_, ms, ask, answer) => {
  const clock = new ManualClock()
  let found: unknown = 'none yet'
  const asked = ask({ clock, diff: NEVER, whyUnrecorded: NEVER, changes: {}, argumentsReaders: new Map() } as never)
    .then((value) => { found = value })
  await clock.advance(ms - 1)
  expect(found).toBe('none yet')
  await clock.advance(1)
  await asked
  expect(found).toBe(answer)
})
const CALLED = {
  tool: { grant: { fs: { write: [] } } },
  session: { policy: { forTool: () => ({ power: { shell: [{ cmd: 'git' }] } }) } },
} as never

test('a question waits a second for the number of files in a folder', async () => {
  const clock = new ManualClock()
  const reader: ArgumentsReader = () => ({
    key: 'notes', subjects: [{ key: 'notes', place: { kind: 'folder', path: '/work space/notes' } }],
    touches: [], asks: [], denies: [],
  })
  const world = createWorld({
    clock, countFiles: NEVER, argumentsReaders: new Map([['echo', reader]]),
    extensions: [{ layer: 'bundled', inline: true, tools: { echo: { gated: true } } }],
  })
  const approver = new ScriptedApprover('once')
  const called = (await world.host.openSession({ approver })).call(CALL)
  await clock.advance(999)
  expect(approver.asked).toEqual([])
  await clock.advance(1)
  expect(verdictOf(await called)).toBe('output')
  expect(approver.asked[0]?.answers.map(({ words }) => words)).toContain('this folder (notes) in this session')
})

test('a tool has a second to derive a key', async () => {
  const clock = new ManualClock()
  const tools = { echo: { gated: true, deriveApprovalKey: NEVER } }
  const { host } = createWorld({ clock, extensions: [{ tools }] })
  const session = await host.openSession({ approver: new ScriptedApprover('once') })
  const called = session.call(CALL)
  await clock.advance(1_000)
  expect(await called).toMatchObject({ error_text: expect.stringContaining('took longer than 1000 ms') })
})

test('of the description of an agent a model sees 200 characters', () => {
  const task = { name: 'task', inputSchema: { properties: { subagent_type: {} } } }
  const agents = { usable: [{ name: 'scout', manifest: { description: 'x'.repeat(201) } }] }
  const [shown] = new DescribedTools(() => agents as never).of({ definitions: () => [task] } as never)
  expect(shown!.inputSchema).toMatchObject({
    properties: { subagent_type: { description: `scout: ${'x'.repeat(200)}` } },
  })
})

test('changes are reported after two seconds although others follow', async () => {
  const clock = new ManualClock()
  let reported = 0
  const watch = new ChangeWatch(clock, () => { reported++ })
  for (let ms = 0; ms < 2_000; ms += 100) {
    watch.changed()
    expect(reported).toBe(0)
    await clock.advance(100)
  }
  expect(reported).toBe(1)
})
