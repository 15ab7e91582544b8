import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import type { Rule, SessionOptions } from '../../src/index.ts'
import { createScriptedApprover, createTestHost, type TestHost, type TestHostOptions } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

/** A host with three files in its workspace. */
async function opened(options: SessionOptions, more: TestHostOptions = {}) {
  const host = await createTestHost({ cache: CACHE, ...more })
  mkdirSync(join(host.workspace, 'src'))
  for (const name of ['.env', 'src/a.py', 'src/a.ts']) writeFileSync(join(host.workspace, name), 'text\n')
  const session = await host.openSession(options)
  let count = 0
  const call = (name: string, args: JsonObject) => session.call({ id: `c${++count}`, name, arguments: args })
  const explained = async (name: string, args: JsonObject) =>
    (await session.explain({ id: `e${++count}`, name, arguments: args })).decision
  return { host, session, call, explained, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() }
}

const rule = (permission: string, pattern: string, action: Rule['action']): Rule => ({ permission, pattern, action })

it('a tool without powers that is not gated runs unasked, with the mode read', async () => {
  await using host: TestHost = await createTestHost({ cache: CACHE, config: IN_THREADS })
  writeExtension(host.home, { id: 'adder', tools: [{ name: 'add', mode: undefined as never }] },
    'export default { tools: { add: { execute: ({ a, b }) => a + b } } }')
  await host.reload()
  expect(host.tool('add')).toMatchObject({ gated: false, mode: 'read' })
  const session = await host.openSession({ mode: 'ask' })
  expect(await session.call({ id: 'c', name: 'add', arguments: { a: 1, b: 2 } })).toSucceedWith(3)
})

it('an allow rule answers the question of the mode, also for bash', async () => {
  await using world = await opened({ mode: 'ask', rules: [rule('bash', 'touch *', 'allow')] })
  expect(await world.call('bash', { command: 'touch made.txt' })).toMatchObject({ data: { exit_code: 0 } })
  expect(await world.call('bash', { command: 'mkdir made' })).toFailWith('ApprovalDenied')
})

it.each(['session', 'configuration'])('a deny of a file for a tool denies that file: %s', async (place) => {
  const rules = [rule('read', 'src/a.py', 'deny')]
  await using world = await opened({ mode: 'yolo', ...(place === 'session' && { rules }) },
    place === 'session' ? {} : { config: { rules } })
  expect(await world.explained('read', { path: 'src/a.py' })).toBe('deny')
  expect(await world.call('read', { path: 'src/a.py' })).toFailWith('RuleDenied')
  expect(await world.call('read', { path: 'src/a.ts' })).toMatchObject({ type: 'output' })
})

it('a glob over paths matches the arguments of a tool', async () => {
  await using world = await opened({ mode: 'yolo', rules: [rule('read', '**/*.py', 'deny')] })
  expect(await world.explained('read', { path: 'src/a.py' })).toBe('deny')
  expect(await world.call('read', { path: 'src/a.py' })).toFailWith('RuleDenied')
  expect(await world.call('read', { path: 'src/a.ts' })).toMatchObject({ type: 'output' })
})

it('a rule for * is for every tool and capability', async () => {
  await using world = await opened({ mode: 'yolo', rules: [rule('*', '*', 'deny')] })
  expect(await world.call('read', { path: 'src/a.ts' })).toFailWith('RuleDenied')
  expect(await world.call('todo', { todos: [] })).toFailWith('RuleDenied')
})

it('of two rules the one inside the other decides, and of two that overlap the strictest', async () => {
  const rules = [rule('read', 'src/*', 'deny'), rule('read', 'src/a.ts', 'allow'), rule('read', '**/*.py', 'allow')]
  await using world = await opened({ mode: 'yolo', rules: rules.toReversed() })
  expect(await world.call('read', { path: 'src/a.ts' })).toMatchObject({ type: 'output' })
  expect(await world.call('read', { path: 'src/a.py' })).toFailWith('RuleDenied')
})

it('rules of the agent, the session and the project decide together', async () => {
  await using host = await createTestHost({ cache: CACHE, trust: 'trusted' })
  mkdirSync(join(host.workspace, '.bulkhead'))
  writeFileSync(join(host.workspace, '.bulkhead/config.json'), JSON.stringify({ rules: [rule('todo', '*', 'deny')] }))
  await host.reload()
  const session = await host.openSession({
    mode: 'yolo', rules: [rule('list', '*', 'deny')], agent: { name: 'scout', rules: [rule('glob', '*', 'deny')] },
  })
  for (const [name, args] of [['todo', { todos: [] }], ['list', {}], ['glob', { pattern: '*' }]] as const) {
    expect(await session.call({ id: name, name, arguments: args })).toFailWith('RuleDenied')
  }
})

it('a rule without an action is refused', async () => {
  await using world = await opened({})
  const unfinished = { permission: 'read', pattern: '.env' } as Rule
  await expect(world.host.openSession({ rules: [unfinished] })).rejects.toMatchObject({ code: 'ConfigInvalid' })
})

it('the ask of a rule or watchdog is a denial without a person, also in yolo', async () => {
  await using byRule = await opened({ mode: 'yolo', rules: [rule('read', '*', 'ask')] })
  expect(await byRule.explained('read', { path: 'src/a.ts' })).toBe('deny')
  expect(await byRule.call('read', { path: 'src/a.ts' })).toFailWith('ApprovalDenied')
  await using byWatchdog = await opened({ mode: 'yolo', watchdog: () => ({ action: 'ask', reason: 'look' }) })
  expect(await byWatchdog.call('read', { path: 'src/a.ts' })).toFailWith('ApprovalDenied')
})

it('always to a watchdog holds for the same call', async () => {
  const approver = createScriptedApprover(['session', 'once'])
  await using world = await opened({ mode: 'yolo', approver, watchdog: () => ({ action: 'ask', reason: 'look' }) })
  for (const path of ['src/a.ts', 'src/a.ts', 'src/a.py']) {
    expect(await world.call('read', { path })).toMatchObject({ type: 'output' })
  }
  approver.check()
})

it('a call beyond its grant is denied before watchdog and person, and explain agrees', async () => {
  const asked: string[] = []
  const approver = createScriptedApprover([])
  await using world = await opened({
    mode: 'ask', approver, watchdog: ({ tool }) => { asked.push(tool.name); return { action: 'allow' } },
  })
  expect(await world.explained('write', { path: '/etc/outside.txt', content: '' })).toBe('deny')
  expect(await world.call('write', { path: '/etc/outside.txt', content: '' })).toFailWith('CapabilityDenied')
  expect([asked, approver.requests]).toEqual([[], []])
})
