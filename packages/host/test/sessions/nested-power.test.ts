import type { ApprovalAnswer, ApprovalRequest, ManifestInput } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { createWorld, verdictOf, type ExtensionSketch, type TwinRuntime, type World } from '../twin/world.ts'

const READS = { fs: { read: ['{workspace}'] } }
const HOSTS = { net: { hosts: ['api.example.com', 'other.example.com'] } }
const STATE: ManifestInput['stateSlot'] = { slotVersion: '1', schema: { type: 'object' } }
const TOKEN = { name: 'API_TOKEN', hosts: ['api.example.com'] }

/** An extension with the tool `outer`, which calls `inner` (or another name) with its own arguments. */
const outer = (more: Partial<ExtensionSketch> = {}, requires: JsonObject = {}, name = 'inner'): ExtensionSketch => ({
  id: 'outer',
  tools: {
    outer: {
      mode: 'read', requires: { ...READS, ...HOSTS, ...requires, capabilities: ['tools.call', 'session'] },
      execute: (args: JsonObject, { services, callId, signal }: TwinRuntime) =>
        services.callTool!(callId, name, args, signal),
    },
  },
  ...more,
})
const inner = (more: Partial<ExtensionSketch> = {}): ExtensionSketch =>
  ({
    id: 'inner', tools: { inner: { requires: { ...READS, ...HOSTS }, approvalKey: '{city}' } }, ...more,
  }) as ExtensionSketch

const nested = async (world: World): Promise<string> => {
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c1', name: 'outer', arguments: { city: 'Oslo' } })
  const ends = [...world.eventsOf('ToolInvocationCancelled'), ...world.eventsOf('ToolInvocationSucceeded')]
  const own = ends.find(({ tool }) => tool === 'inner')!
  return own.type === 'ToolInvocationSucceeded' ? 'output' : own.errorCode
}

describe('a nested call uses no power that its caller lacks', () => {
  test.each<[string, Partial<ExtensionSketch>, Partial<ExtensionSketch>, string]>([
    ['a variable', {}, { env: ['HOME_PAGE'] }, 'CapabilityDenied'],
    ['a variable of both', { env: ['HOME_PAGE'] }, { env: ['HOME_PAGE'] }, 'output'],
    ['a secret', {}, { secrets: [TOKEN] }, 'CapabilityDenied'],
    ['a secret of another name', { secrets: [{ ...TOKEN, name: 'OTHER' }] }, { secrets: [TOKEN] }, 'CapabilityDenied'],
    [
      'a secret for another host', { secrets: [{ ...TOKEN, hosts: ['other.example.com'] }] }, { secrets: [TOKEN] },
      'CapabilityDenied',
    ],
    ['a secret of both', { secrets: [TOKEN] }, { secrets: [TOKEN] }, 'output'],
    ['the state of another extension', {}, { stateSlot: STATE }, 'CapabilityDenied'],
    [
      'the state of another extension, with state of its own', { stateSlot: STATE }, { stateSlot: STATE },
      'CapabilityDenied',
    ],
  ])('the caller must have the power: %s', async (_, caller, called, verdict) => {
    expect(await nested(createWorld({ extensions: [outer(caller), inner(called)] }))).toBe(verdict)
  })

  test('the state of its own extension counts as power', async () => {
    const own = outer({ stateSlot: STATE })
    const tools = { ...own.tools, inner: { requires: READS } }
    expect(await nested(createWorld({ extensions: [{ ...own, tools }] }))).toBe('output')
  })

  test('the denial names the missing power', async () => {
    const world = createWorld({ extensions: [outer(), inner({ env: ['A'], secrets: [TOKEN], stateSlot: STATE })] })
    await nested(world)
    const decided = world.eventsOf('ToolInvocationDecided').find(({ tool }) => tool === 'inner')
    expect(decided?.reason).toBe(
      '"outer", which calls it, may not read the variable A; use the secret API_TOKEN for api.example.com; '
        + 'read and write the stored state of inner',
    )
  })
})

/** Answers each question by the scripted decision of its tool and records the questions. */
function deciding(decisions: Readonly<Record<string, ApprovalAnswer['decision']>>) {
  const asked: ApprovalRequest[] = []
  const approve = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    asked.push(request)
    return { decision: decisions[request.tool] ?? 'once' }
  }
  return { asked, approver: { approve }, tools: () => asked.splice(0).map(({ tool }) => tool) }
}

describe('the callers of a nested call', () => {
  const world = () => createWorld({ extensions: [
    outer(), inner(), { ...outer(), id: 'third', tools: { third: outer().tools!['outer']! } },
  ] })
  const call = (name: string, city: Json = 'Oslo') => ({ id: `${name}-${String(city)}`, name, arguments: { city } })

  test('are shown with every question, from the first', async () => {
    const { asked, approver } = deciding({})
    const deep = createWorld({ extensions: [outer({}, {}, 'middle'), inner(), {
      id: 'middle', tools: { middle: outer().tools!['outer']! },
    }] })
    await (await deep.host.openSession({ approver })).call(call('outer'))
    expect(asked.map(({ tool, calledBy }) => [tool, calledBy])).toEqual([
      ['outer', undefined],
      ['middle', ['outer of the global extension outer 1.0.0']],
      ['inner', ['outer of the global extension outer 1.0.0', 'middle of the global extension middle 1.0.0']],
    ])
  })

  test.each(['session', 'project'] as const)(
    'an approval of a direct call for the %s does not answer a nested one',
    async (scope) => {
      const { approver, tools } = deciding({ inner: scope, outer: scope })
      const session = await world().host.openSession({ approver })
      await session.call(call('inner'))
      await session.call({ ...call('inner'), id: 'again' })
      expect(tools()).toEqual(['inner'])
      await session.call(call('outer'))
      expect(tools()).toEqual(['outer', 'inner'])
      await session.call({ ...call('outer'), id: 'again' })
      expect(tools()).toEqual([])
    },
  )

  test.each(['session', 'project'] as const)(
    'an approval of a nested call for the %s answers neither a direct one nor one of another caller',
    async (scope) => {
      const { approver, tools } = deciding({ inner: scope, outer: scope, third: scope })
      const session = await world().host.openSession({ approver })
      await session.call(call('outer'))
      expect(tools()).toEqual(['outer', 'inner'])
      await session.call(call('inner'))
      expect(tools()).toEqual(['inner'])
      await session.call(call('third'))
      expect(tools()).toEqual(['third', 'inner'])
    },
  )

  test('an approval of a nested call ends when its caller changes', async () => {
    const first = world()
    const { approver, tools } = deciding({ inner: 'project', outer: 'project' })
    await (await first.host.openSession({ approver })).call(call('outer'))
    expect(tools()).toEqual(['outer', 'inner'])
    await first.host.close()
    const second = createWorld({ extensions: [outer({ bytes: 'others' }), inner()], store: first.store })
    await (await second.host.openSession({ approver })).call(call('outer'))
    expect(tools()).toEqual(['outer', 'inner'])
    await (await second.host.openSession({ approver })).call({ ...call('outer'), id: 'again' })
    expect(tools()).toEqual([])
  })

  test('are stored with an approval', async () => {
    const { approver } = deciding({ inner: 'project' })
    const { host } = world()
    await (await host.openSession({ approver })).call(call('outer'))
    expect((await host.approvals.list()).map(({ tool, callers }) => [tool, callers?.map((caller) => caller.tool)]))
      .toEqual([['inner', ['outer']]])
  })
})

describe('sub-agents', () => {
  const task: ExtensionSketch = {
    id: 'task', layer: 'bundled', tools: { task: { requires: { capabilities: ['session'] }, mode: 'local' } },
  }

  test.each(['bundled', 'global', 'project'] as const)(
    'are not started by a tool of the %s layer that calls the tool for it',
    async (layer) => {
      const world = createWorld({ extensions: [outer({ layer }, {}, 'task'), task] })
      const session = await world.host.openSession({ mode: 'yolo' })
      expect(await session.call({ id: 'c1', name: 'outer', arguments: {} })).toMatchObject({
        error_text:
          'The call of "task" was refused: "outer", which calls it, may not start sub-agents. '
          + 'Hand it back for the model to call.',
      })
      expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([{ tool: 'task', errorCode: 'CapabilityDenied' }])
    },
  )

  test('are not started through a chain of tools', async () => {
    const middle = { ...outer({}, {}, 'task').tools!['outer']! }
    const world = createWorld({ extensions: [outer({}, {}, 'middle'), { id: 'middle', tools: { middle } }, task] })
    const session = await world.host.openSession({ mode: 'yolo' })
    await session.call({ id: 'c1', name: 'outer', arguments: {} })
    expect(world.eventsOf('ToolInvocationCancelled')).toMatchObject([{ tool: 'task', errorCode: 'CapabilityDenied' }])
    expect(world.eventsOf('ToolInvocationStarted').map(({ tool }) => tool)).toEqual(['outer', 'middle'])
  })

  test('are started by the model, under a ceiling too', async () => {
    for (const ceiling of [undefined, { capabilities: ['session' as const] }]) {
      const { host } = createWorld({ extensions: [task], config: ceiling ? { policy: { ceiling } } : {} })
      const session = await host.openSession({ mode: 'yolo', ...(ceiling && { ceiling }) })
      expect(verdictOf(await session.call({ id: 'c1', name: 'task', arguments: {} }))).toBe('output')
    }
  })
})
