import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { AgentInput, AgentRunner, CallProgress, Session } from '../../src/index.ts'
import { createTestHost, type FakeTool } from '../../src/testing/index.ts'
import '../../src/testing/vitest.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

const task = { id: 't', name: 'task', arguments: { subagent_type: 'scout', prompt: 'look' } }

const FORECAST: FakeTool = {
  requires: { net: { hosts: ['api.weather.example'] } }, gated: true, mode: 'external', execute: () => 'sunny',
}
const CEILING = { fs: { read: ['{workspace}/**'] }, net: { hosts: ['*'] } }

const scout = (more: Partial<AgentInput>): AgentInput =>
  ({ name: 'scout', tools: ['read'], requires: { net: { hosts: ['api.example.com'] } }, ...more })
const expectAdded = ({ items }: ReturnType<Session['surface']>) => {
  expect(items.find(({ subject }) => subject.includes('api.example.com'))).toMatchObject({ agent: true, tools: [] })
  expect(items.some(({ subject }) => subject.includes('weather'))).toBe(false)
}

it('what an agent requires adds to the surface beside a ceiling, and to no tool', async () => {
  await using host = await createTestHost({ cache: CACHE, tools: { forecast: FORECAST } })
  expectAdded((await host.openSession({ agent: scout({ ceiling: CEILING }) })).surface())
})

it('what an agent requires adds to the surface with the profile grida, and to no tool', async () => {
  await using host = await createTestHost({ cache: CACHE, profile: 'grida', tools: { forecast: FORECAST } })
  expectAdded((await host.openSession({ agent: scout({}) })).surface())
})

it('another tool extends the surface of an agent that declares requires and a ceiling', async () => {
  await using host = await createTestHost({ cache: CACHE, tools: { forecast: FORECAST } })
  const both = scout({ tools: ['read', 'forecast'], ceiling: CEILING })
  const { items } = (await host.openSession({ agent: both })).surface()
  expect(items.find(({ subject }) => subject.includes('weather'))).toMatchObject({ tools: ['forecast'] })
})

it('tool_search finds no tool that the session lacks or that a rule always denies', async () => {
  const names = Array.from({ length: 25 }, (_, index) => `crane_${index}`)
  const tools = Object.fromEntries(names.map((name) => [name, 'up']))
  await using host = await createTestHost({ cache: CACHE, tools })
  const session = await host.openSession({
    tools: ['tool_search', 'crane_1', 'crane_2'], rules: [{ permission: 'crane_2', pattern: '*', action: 'deny' }],
  })
  const found = await session.call({ id: 'c', name: 'tool_search', arguments: { query: 'crane' } })
  expect(found).toMatchObject({ type: 'output', data: { matches: [{ id: 'crane_1' }] } })
})

it('a list of tools takes the name of a server with a hyphen, and patterns', LONG, async () => {
  const fixtures = join(import.meta.dirname, '../../../bridges/test/mcp/connecting/fixtures')
  await using host = await createTestHost({ cache: CACHE, tools: { mem_a: 'a', mem_b: 'b' }, discover: 'when-asked' })
  const script = join(host.home, 'script.json')
  writeFileSync(script, JSON.stringify({ tools: [{ name: 'open', inputSchema: { type: 'object' } }] }))
  writeFileSync(join(host.home, 'config.json'), JSON.stringify({
    mcp: {
      'chrome-dev-tools': {
        type: 'local', command: [process.execPath, join(fixtures, 'raw-server.js'), script],
        jail: false,
      },
    },
  }))
  await host.reload()
  await host.mcp.connect(['chrome-dev-tools'])
  const offered = async (...tools: string[]) => (await host.openSession({ tools })).tools().map(({ name }) => name)
  for (const entry of ['chrome-dev-tools', 'mcp:chrome-dev-tools', 'mcp:chrome-dev-tools:*']) {
    expect(await offered(entry), entry).toEqual(['chrome_dev_tools_open'])
  }
  expect(await offered('mem_*')).toEqual(['mem_a', 'mem_b'])
})

it('flags for the role agent apply to a session that names no role', async () => {
  await using host = await createTestHost({ cache: CACHE, config: { roles: { allow_list_agent: false } } })
  const session = await host.openSession({ mode: 'yolo' })
  expect(await session.call({ id: 'c', name: 'list', arguments: {} })).toFailWith('RoleDenied')
})

it('folders that begin with _ are not loaded', async () => {
  await using host = await createTestHost({ cache: CACHE, config: IN_THREADS })
  const folder = writeExtension(host.home, { id: 'draft', tools: [{ name: 'sketch' }] }, 'export default {}')
  renameSync(folder, join(host.home, 'tools/_draft'))
  await host.reload()
  expect([host.tool('sketch'), host.diagnostics]).toEqual([undefined, []])
})

const SCOUT: AgentInput = { name: 'scout', description: 'Finds files quickly.', prompt: 'You look for files.' }

it('task lists the agents with their descriptions', async () => {
  await using host = await createTestHost({ cache: CACHE, agents: [SCOUT], runAgent: async () => ({ output: '' }) })
  const offered = host.offeredTools(await host.openSession()).find(({ name }) => name === 'task')!
  expect(offered.inputSchema).toMatchObject({ properties: { subagent_type: { enum: ['scout'] } } })
  expect(JSON.stringify(offered)).toContain('Finds files quickly.')
})

it('an agent names its model, its settings, its thinking level and its strategy', async () => {
  const whole: AgentInput = {
    name: 'scout', model: 'small', modelSettings: { temperature: 0 }, thinkingLevel: 'low', strategy: 'sequential',
  }
  const runAgent = vi.fn<AgentRunner>(async () => ({ output: '' }))
  await using host = await createTestHost({ cache: CACHE, agents: [whole], runAgent })
  await (await host.openSession({ mode: 'yolo' })).call(task)
  expect(runAgent.mock.calls[0]![0].agent).toMatchObject(whole)
})

it('the result of a task is the text of the agent', async () => {
  const runAgent: AgentRunner = async () => ({ output: 'three files' })
  await using host = await createTestHost({ cache: CACHE, agents: [SCOUT], runAgent })
  const outcome = await (await host.openSession({ mode: 'yolo' })).call(task)
  expect(outcome).toMatchObject({ type: 'output', content: [{ type: 'text', text: 'three files' }] })
})

it('what a sub-agent calls is an update of the call that delegates', async () => {
  const runAgent: AgentRunner = async ({ session }) => {
    await session.call({ id: 'l', name: 'list', arguments: {} })
    return { output: '' }
  }
  await using host = await createTestHost({ cache: CACHE, agents: [SCOUT], runAgent })
  const seen: CallProgress[] = []
  await (await host.openSession({ mode: 'yolo' })).call(task, { onProgress: (progress) => void seen.push(progress) })
  expect(JSON.stringify(seen)).toContain('"list"')
})
