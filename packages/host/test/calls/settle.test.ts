import { expect, test } from 'vitest'
import { createWorld, verdictOf, type ToolSketch, type WorldSketch } from '../twin/world.ts'

async function callWith(tool: ToolSketch, sketch: WorldSketch = {}) {
  const world = createWorld({ extensions: [{ tools: { echo: tool } }], ...sketch })
  const session = await world.host.openSession({ mode: 'yolo' })
  return { world, session, outcome: await session.call({ id: 'c1', name: 'echo', arguments: {} }) }
}

test('an outcome names its origin', async () => {
  const { outcome, world } = await callWith({ execute: () => 'hello' })
  expect(outcome).toEqual({
    type: 'output', data: 'hello',
    metadata: {
      call_id: 'c1', tool: 'echo', duration_ms: expect.any(Number), attempt: 1, tokens_used: 1,
      origin: { layer: 'global', extension: 'sample', version: '1.0.0', digest: world.host.tools()[0]!.packageDigest },
    },
  })
})

test.each<[string, unknown, object]>([
  ['a bare value', 7, { type: 'output', data: 7 }],
  ['nothing', undefined, { type: 'output', data: null }],
  ['stud\'s success', { ok: true, value: { a: 1 } }, { type: 'output', data: { a: 1 } }],
  [
    'stud\'s failure',
    { ok: false, error: { class: 'ToolTerminal', code: 'NotFound', context: { message: 'gone' } } },
    { type: 'error', error: { code: 'NotFound' } },
  ],
  [
    'phi\'s content',
    { content: [{ type: 'text', text: 'hi' }], details: { a: 1 } },
    { type: 'output', content: [{ type: 'text', text: 'hi' }], details: { a: 1 } },
  ],
  [
    'phi\'s error', { variant: 'InvalidArgs', message: 'bad' },
    { type: 'error', error_text: 'Invalid arguments: bad', error: { code: 'InputInvalid' } },
  ],
])('a result in the form of %s is accepted', async (_, returned, expected) => {
  expect((await callWith({ execute: () => returned })).outcome).toMatchObject(expected)
})

test('a result that satisfies the outputSchema arrives whole, also if it looks like another form', async () => {
  const outputSchema = {
    type: 'object', properties: { success: { type: 'boolean' }, count: { type: 'integer' } },
    required: ['success', 'count'], additionalProperties: false,
  }
  for (const data of [{ success: true, count: 3 }, { success: false, count: 0 }]) {
    expect((await callWith({ outputSchema, execute: () => data })).outcome).toMatchObject({ type: 'output', data })
  }
  // It does not satisfy the schema, and the tool names its form or does not.
  const execute = () => ({ success: false, error: 'down' })
  const named = await callWith({ outputSchema, dialect: 'steerable', execute })
  expect(named.outcome).toMatchObject({ type: 'error', error_text: 'down' })
  expect((await callWith({ outputSchema, execute })).outcome).toMatchObject({ type: 'output', data: execute() })
})

test('metadata of a tool is accepted only where the host has none', async () => {
  const { outcome } = await callWith({
    execute: () => ({
      type: 'output',
      data: 1,
      metadata: { call_id: 'forged', attempt: 9, truncated: true, child_loop_id: 'loop-7', tokens_used: 40 },
    }),
  })
  expect(outcome.metadata).toMatchObject({ call_id: 'c1', attempt: 1, child_loop_id: 'loop-7', tokens_used: 40 })
  expect(outcome.metadata).not.toHaveProperty('truncated')
})

test('a long result is truncated, and saved whole', async () => {
  const saved: unknown[] = []
  const sidecar = { save: async (...args: readonly string[]) => { saved.push(args); return '/side/c1.txt' } }
  const { outcome, session } = await callWith({ maxOutput: '1KB', execute: () => 'x'.repeat(5_000) }, { sidecar })
  expect(outcome).toMatchObject({
    type: 'output', data: 'x'.repeat(1_024), metadata: { truncated: true, output_path: '/side/c1.txt' },
  })
  expect(saved).toEqual([[session.id, 'c1', 'x'.repeat(5_000)]])
})

test('a long result is truncated also if it cannot be saved', async () => {
  const tool: ToolSketch = { execute: () => 'x'.repeat(300_000) }
  const { outcome } = await callWith(tool)
  expect(outcome).toMatchObject({ data: 'x'.repeat(200 * 1024), metadata: { truncated: true } })
  expect(outcome.metadata).not.toHaveProperty('output_path')
  const failing = await callWith(tool, { sidecar: { save: async () => { throw new Error('disk full') } } })
  expect(failing.outcome).toMatchObject({ type: 'output', metadata: { truncated: true } })
  expect(failing.world.eventsOf('SuppressedError')).toMatchObject([{ source: 'sidecar', message: 'disk full' }])
})

test('the events of each call are in order: proposed, decided, started, ended', async () => {
  const order = async (tool: ToolSketch) => {
    const { world, session } = await callWith(tool)
    const events = world.events.filter((event) => event.type.startsWith('ToolInvocation'))
    expect(
      events.every(
        (event) => 'sessionId' in event && event.sessionId === session.id && 'callId' in event && event.callId === 'c1',
      ),
    ).toBe(true)
    expect(
      events.every((event) => 'origin' in event && event.origin?.digest === world.host.tools()[0]!.packageDigest),
    ).toBe(true)
    return events.map(({ type }) => type.slice('ToolInvocation'.length))
  }
  expect(await order({})).toEqual(['Proposed', 'Decided', 'Started', 'Succeeded'])
  expect(
    await order({
      mode: 'local', effects: 'once',
      execute: () => {
        throw new Error('no')
      },
    }),
  ).toEqual(['Proposed', 'Decided', 'Started', 'Failed'])
  expect(await order({ inputSchema: { type: 'object', required: ['a'] } })).toEqual(['Cancelled'])
})

test('a tool that throws an unprintable value has one outcome', async () => {
  const { outcome } = await callWith({
    mode: 'local', effects: 'once',
    execute: () => { throw Object.defineProperty(
      new Error('hidden'), 'message', { get: () => { throw new Error('unprintable') } },
    ) },
  })
  expect(verdictOf(outcome)).toBe('ToolExecutionFailed')
})
