import { expect, test } from 'vitest'
import type { HookContext, Hooks } from '../../../src/index.ts'
import { flush } from '../../twin/clock.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'

const call = { id: 'c', name: 'echo', arguments: { a: 1 } }
const opened = async (options: Parameters<ReturnType<typeof createWorld>['host']['openSession']>[0] = {}) => {
  const world = createWorld()
  return { world, session: await world.host.openSession({ mode: 'yolo', ...options }) }
}

test('hooks run in the order they were added, until a veto', async () => {
  const asked: string[] = []
  const hook = (name: string, answer?: false): Hooks => ({
    beforeToolExecution: () => {
      asked.push(name)
      return answer
    },
  })
  const { session } = await opened({ hooks: [hook('first'), hook('second')] })
  session.addHooks(hook('third', false))
  session.addHooks(hook('fourth'))
  expect(verdictOf(await session.call(call))).toBe('HookVetoed')
  expect(asked).toEqual(['first', 'second', 'third'])
})

test('added hooks can be removed, the same hooks once for each addition', async () => {
  let asked = 0
  const hooks: Hooks = { beforeToolExecution: () => { asked++ } }
  const { session } = await opened()
  const [removeOne, removeOther] = [session.addHooks(hooks), session.addHooks(hooks)]
  await session.call(call)
  expect(asked).toBe(2)
  removeOne()
  removeOne()
  await session.call(call)
  expect(asked).toBe(3)
  removeOther()
  await session.call(call)
  expect(asked).toBe(3)
})

test('hooks of a session run before those of its sub-agents, also if they were added later', async () => {
  const asked: string[] = []
  const hook = (name: string): Hooks => ({ beforeToolExecution: () => { asked.push(name) } })
  const { session } = await opened({ hooks: hook('outer') })
  const subagent = await session.openSubagent({ mode: 'yolo', hooks: hook('inner') })
  const remove = session.addHooks(hook('outer, later'))
  await subagent.call(call)
  expect(asked.splice(0)).toEqual(['outer', 'outer, later', 'inner'])
  remove()
  await session.call(call)
  expect(asked).toEqual(['outer'])
})

test('hooks may be instances of a class', async () => {
  class Counting implements Hooks {
    #count = 0
    get count() { return this.#count }
    beforeToolExecution() { this.#count++ }
  }
  const hooks = new Counting()
  const { session } = await opened({ hooks })
  await session.call(call)
  expect(hooks.count).toBe(1)
})

test.each(['afterToolExecution', 'onBeforeTool', 'onAfterTool', 'afterToolExecutionUpdate'] as const)(
  'an error of %s is reported and changes nothing, also if it is late', async (name) => {
    const world = createWorld({
      extensions: [
        {
          tools: {
            echo: {
              execute: (_, { update }) => {
                update(1)
                return 1
              },
            },
          },
        },
      ],
    })
    const session = await world.host.openSession({ mode: 'yolo' })
    session.addHooks({ [name]: () => { throw new Error('at once') } })
    session.addHooks({ [name]: async () => { throw new Error('late') } })
    session.addHooks(Object.create({ get [name](): never { throw new Error('unreadable') } }) as Hooks)
    expect(verdictOf(await session.call(call))).toBe('output')
    await flush()
    expect(world.eventsOf('SuppressedError').map(({ source, message }) => `${source}: ${message}`).toSorted())
      .toEqual([`hook ${name}: at once`, `hook ${name}: late`, `hook ${name}: unreadable`])
  },
)

test.each<[string, Hooks]>([
  ['says no', { beforeToolExecutionUpdate: () => false }],
  ['throws', { beforeToolExecutionUpdate: () => { throw new Error('confused') } }],
  ['takes its time', { beforeToolExecutionUpdate: (async () => true) as never }],
])('an update is dropped when a hook %s, and later hooks do not see it', async (_, hooks) => {
  const updates: unknown[] = []
  const world = createWorld({
    extensions: [
      {
        tools: {
          echo: {
            execute: (__, { update }) => {
              update(1)
              return 1
            },
          },
        },
      },
    ],
  })
  const session = await world.host.openSession({
    mode: 'yolo',
    hooks: [
      hooks,
      {
        afterToolExecutionUpdate: (__, partial) => {
          updates.push(partial)
        },
      },
    ],
  })
  expect(verdictOf(await session.call(call))).toBe('output')
  await flush()
  expect(world.eventsOf('ToolInvocationUpdated')).toEqual([])
  expect(updates).toEqual([])
})

test('observers get the call, and cannot change it', async () => {
  const seen: HookContext[] = []
  const world = createWorld({ config: { roles: { allow_echo_reviewer: true } } })
  const session = await world.host.openSession({
    mode: 'yolo', role: 'reviewer',
    hooks: {
      onBeforeTool: (context) => {
        seen.push(context)
      },
      onAfterTool: (context) => {
        seen.push(context)
      },
    },
  })
  await session.call(call)
  expect(seen).toMatchObject([
    {
      hookPoint: 'onBeforeTool', toolName: 'echo', callId: 'c', parameters: { a: 1 }, role: 'reviewer', result: null,
      error: null, attempt: 1, workspace: '/work space', sessionId: session.id,
    },
    { hookPoint: 'onAfterTool', result: { type: 'output', data: { a: 1 } } },
  ])
  expect(Object.isFrozen(seen[0])).toBe(true)
  expect(Object.isFrozen(seen[0]?.parameters)).toBe(true)
})

test('a denial has the role of the session, by default agent', async () => {
  const seen: HookContext[] = []
  const world = createWorld({ config: { roles: { allow_echo: false } } })
  const session = await world.host.openSession({
    mode: 'yolo',
    hooks: {
      onPermissionDenied: (context) => {
        seen.push(context)
      },
    },
  })
  await session.call(call)
  expect(seen).toMatchObject([{ role: 'agent', error: { code: 'RoleDenied' }, attempt: 0 }])
})

test('hooks of the host run in every session and sub-agent, before those of the session', async () => {
  const ran: string[] = []
  const hook = (name: string): Hooks => ({ beforeToolExecution: () => { ran.push(name) } })
  const { host } = createWorld({ hooks: [hook('host'), hook('second')] })
  const session = await host.openSession({ mode: 'yolo', hooks: hook('session') })
  await session.call(call)
  const other = await host.openSession({ mode: 'yolo' })
  await (await other.openSubagent({ mode: 'yolo', hooks: hook('sub-agent') })).call(call)
  expect(ran).toEqual(['host', 'second', 'session', 'host', 'second', 'sub-agent'])
})

test('a misspelled hook of the host is refused', () => {
  expect(() => createWorld({ hooks: { beforeToolExecutions: () => true } as Hooks })).toThrow(/beforeToolExecutions/)
})
