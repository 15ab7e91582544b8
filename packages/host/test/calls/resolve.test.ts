import { expect, test } from 'vitest'
import { createWorld, type World } from '../twin/world.ts'

async function call(world: World, name: string) {
  const session = await world.host.openSession({ mode: 'yolo' })
  return session.call({ id: 'c1', name, arguments: {} })
}

test('an unknown tool is an error that suggests similar names', async () => {
  const world = createWorld({ extensions: [{ tools: { forecast: {}, alerts: {} } }] })
  expect(await call(world, 'forcast')).toMatchObject({
    error: {
      code: 'ToolNotRegistered', data: { close: ['forecast'] },
    }, error_text: expect.stringContaining('"forecast"'), metadata: { tool: 'forcast', origin: null },
  })
  expect(await call(world, 'nothing_like_it')).toMatchObject({
    error: { code: 'ToolNotRegistered', data: { close: [] } },
  })
  expect(world.sandbox.requests).toEqual([])
})

test('a tool or an argument of another agent is an error that names ours', async () => {
  const inputSchema = { type: 'object', properties: { query: {} }, additionalProperties: false }
  const world = createWorld({
    extensions: [
      { layer: 'bundled', tools: { read: {}, bash: {}, filesystem_read_file: {}, web_search: { inputSchema } } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const reason = async (name: string, args: unknown) => {
    const outcome = await session.call({ id: 'c1', name, arguments: args })
    return outcome.type === 'error' ? `${outcome.error.code}: ${outcome.error_text}` : 'no error'
  }
  expect(await reason('read_file', {})).toBe('ToolNotRegistered: There is no tool "read_file". Use "read" instead.')
  for (const name of ['mcp:filesystem.read_file', 'mcp__filesystem__read_file', 'filesystem__read_file']) {
    expect(await reason(name, {})).toBe(
      `ToolNotRegistered: There is no tool "${name}". Use "filesystem_read_file" instead.`,
    )
  }
  expect(await reason('git_manager', { action: 'push' })).toBe(
    'ToolNotRegistered: There is no tool "git_manager". Run "git push" with "bash".',
  )
  const hostile = { get action() { throw new Error('no') } }
  for (const args of [hostile, null, undefined, 'push'])
    expect(await reason('git_manager', args)).toMatch(/^ToolNotRegistered: .*actions: status, /)
  expect(await reason('web_search', { allowed_domains: [] })).toMatch(/^InputInvalid: .*"site:HOST"/)
  expect(await reason('web_search', { other: [] })).toMatch(/^InputInvalid: .*Correct the arguments/)
})

test('a name with control characters, or a long one, is displayed safely', async () => {
  const outcome = await call(createWorld(), `\u001b[2J${'x'.repeat(5_000)}`)
  expect(outcome.type === 'error' && outcome.error_text).not.toContain('\u001b')
  expect(outcome.type === 'error' && outcome.error_text.length).toBeLessThan(300)
})

test.each(['__proto__', 'constructor', 'toString'])('%s is not a tool', async (name) => {
  expect(await call(createWorld(), name)).toMatchObject({ error: { code: 'ToolNotRegistered' } })
})

test('a disabled tool is reported as disabled, also if all are', async () => {
  const one = createWorld({ config: { tools: { echo: { enabled: false } } } })
  expect(await call(one, 'echo')).toMatchObject({
    error: { code: 'ToolsDisabled' }, error_text: expect.stringContaining('"echo"'),
  })
  const all = createWorld({ config: { toolsEnabled: false } })
  expect(await call(all, 'echo')).toMatchObject({ error: { code: 'ToolsDisabled' } })
  expect((await all.host.openSession()).tools()).toEqual([])
})
