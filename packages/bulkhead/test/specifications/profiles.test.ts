import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { createHost, type AgentRunner, type ProfileName } from '../../src/index.ts'
import { createTestHost, type TestHostOptions } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

const PROFILES: readonly ProfileName[] = ['stud', 'grida', 'morphix', 'steerable', 'phi']
const DENY_ENV = { permission: 'read', pattern: '.env', action: 'deny' } as const
const ECHO = 'export default { tools: { echo: { execute: () => "here" } } }'

it('stud: the project layer is in .stud, and the files of the user stay in force', async () => {
  await using host = await createTestHost({ cache: CACHE, profile: 'stud', trust: 'trusted' })
  writeExtension(join(host.workspace, '.stud'), { id: 'echo', tools: [{ name: 'echo' }] }, ECHO)
  writeFileSync(join(host.home, 'config.json'), JSON.stringify({
    ...IN_THREADS, rules: [{ permission: 'list', pattern: '*', action: 'deny' }],
  }))
  await host.reload()
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'a', name: 'echo', arguments: {} })).toSucceedWith('here')
  expect(await session.call({ id: 'b', name: 'list', arguments: {} })).toFailWith('RuleDenied')
  mkdirSync(join(host.workspace, '.bulkhead'))
  await host.reload()
  expect(host.diagnostics).toMatchObject([{ location: join(host.workspace, '.bulkhead'), severity: 'warning' }])
})

it('morphix: a workflow has 8000 tokens, unless the embedder says otherwise', async () => {
  const tools = { echo: () => 'here' }
  const long = { id: 'c', name: 'echo', arguments: { text: 'x'.repeat(40_000) } }
  await using host = await createTestHost({ cache: CACHE, profile: 'morphix', tools })
  expect(await (await host.openSession()).call(long)).toFailWith('BudgetExhausted')
  await using wider = await createTestHost({
    cache: CACHE, profile: 'morphix', tools, config: { budget: { tokens: 20_000 } },
  })
  expect(await (await wider.openSession()).call(long)).toSucceedWith('here')
})

it('steerable: modes have the treatment of the specification, and local still asks', async () => {
  const modes = ['read', 'safe_write', 'destructive', 'external', 'local'] as const
  const tools = Object.fromEntries(modes.map((mode) => [`do_${mode}`, { mode, gated: true, execute: () => 'ran' }]))
  const ran = async (options: TestHostOptions) => {
    await using host = await createTestHost({ cache: CACHE, tools, ...options })
    const session = await host.openSession({ mode: 'ask' })
    const outcomes = await session.callAll(modes.map((mode) => ({ id: mode, name: `do_${mode}`, arguments: {} })))
    return modes.filter((_, index) => outcomes[index]!.type === 'output')
  }
  expect(await ran({})).toEqual([])
  expect(await ran({ profile: 'steerable' })).toEqual(['read', 'safe_write', 'destructive', 'external'])
})

it('phi: a sub-agent has no sub-agents', async () => {
  const task = { id: 't', name: 'task', arguments: { subagent_type: 'scout', prompt: 'look' } }
  const offered: string[][] = []
  const runAgent: AgentRunner = async ({ session }) => {
    offered.push(host.offeredTools(session).map(({ name }) => name))
    const outcome = await session.call(task)
    return { output: outcome.type === 'error' ? outcome.error.code : 'nested' }
  }
  await using host = await createTestHost({ cache: CACHE, profile: 'phi', runAgent })
  const session = await host.openSession({ mode: 'yolo' })
  expect(host.offeredTools(session).map(({ name }) => name)).toContain('task')
  expect(await session.call(task)).toSucceedWith({ output: 'SubagentDepthExceeded' })
  expect(offered).toEqual([expect.not.arrayContaining(['task'])])
})

it('an option of the embedder wins over the profile', async () => {
  await using host = await createTestHost({
    cache: CACHE, profile: 'stud', projectFolder: '.mine', trust: 'trusted', config: IN_THREADS,
  })
  writeExtension(join(host.workspace, '.mine'), { id: 'echo', tools: [{ name: 'echo' }] }, ECHO)
  await host.reload()
  expect(host.tool('echo')).toMatchObject({ layer: 'project' })
})

it('an unknown profile is refused, with the known ones', async () => {
  await expect(createHost({ workspace: '.', profile: 'strud' as ProfileName })).rejects.toMatchObject({
    code: 'ConfigInvalid', message: expect.stringMatching(/profile.*stud/),
  })
})

/** Calls that a deny, a grant, a protected place or the missing person stops. */
const STOPPED: readonly (readonly [name: string, args: JsonObject])[] = [
  ['read', { path: '.env' }],
  ['read', { path: '/etc/hostname' }],
  ['write', { path: '../outside.txt', content: '' }],
  ['write', { path: '.git/hooks/pre-commit', content: '' }],
  ['write', { path: '.bulkhead/config.json', content: '{}' }],
  ['write', { path: '.vscode/tasks.json', content: '{}' }],
  ['bash', { command: 'mkdir made' }],
  ['bash', { command: 'rm -rf /' }],
  ['wipe', {}],
]

async function stopped(options: TestHostOptions) {
  await using host = await createTestHost({
    cache: CACHE, config: { rules: [DENY_ENV] },
    tools: { wipe: { mode: 'local', gated: true, execute: () => 'wiped' } }, ...options,
  })
  mkdirSync(join(host.workspace, '.git/hooks'), { recursive: true })
  writeFileSync(join(host.workspace, '.env'), 'KEY=1')
  const session = await host.openSession()
  const codes: string[] = []
  for (const [index, [name, args]] of STOPPED.entries()) {
    const outcome = await session.call({ id: `c${index}`, name, arguments: args })
    codes.push(outcome.type === 'error' ? outcome.error.code : 'ran')
  }
  return { codes, walls: await host.walls() }
}
/** Without a profile, the same for all of them. */
let withoutProfile: ReturnType<typeof stopped> | undefined

it.each(PROFILES)('the profile %s lowers no wall, no deny and no protected place', async (profile) => {
  withoutProfile ??= stopped({})
  const [plain, profiled] = [await withoutProfile, await stopped({ profile })]
  expect(profiled.walls).toEqual(plain.walls)
  // A question that the profile does not ask is followed by the denial behind it.
  const stays = (code: string) => code === 'ApprovalDenied' ? expect.not.stringMatching('ran') as string : code
  expect(profiled.codes).toEqual(plain.codes.map(stays))
})
