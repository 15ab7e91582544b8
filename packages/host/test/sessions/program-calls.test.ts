import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import { flush, ManualClock } from '../twin/clock.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ExtensionSketch, type TwinRuntime } from '../twin/world.ts'

/** `code_mode` with a program that calls one tool, in the layer and form of the real one. */
const program = (more: Partial<ExtensionSketch> = {}, timeoutMs = 1_000, name = 'inner'): ExtensionSketch => ({
  id: 'code-mode', layer: 'bundled', inline: true,
  tools: {
    code_mode: {
      mode: 'read', gated: false, timeoutMs, requires: { capabilities: ['tools.call', 'session'] },
      execute: (args: JsonObject, { services, callId, signal }: TwinRuntime) =>
        services.callTool!(callId, name, args, signal),
    },
  },
  ...more,
})
const inner: ExtensionSketch = {
  id: 'inner', tools: { inner: { requires: { fs: { write: ['{workspace}'] } }, approvalKey: '{k}' } },
}
const call = { id: 'c1', name: 'code_mode', arguments: { k: 'v' } }

async function run(extensions: readonly ExtensionSketch[], name = 'code_mode') {
  const world = createWorld({ extensions, config: { tools: { code_mode: { enabled: true } } } })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ ...call, name })
  const decided = world.eventsOf('ToolInvocationDecided').find(({ tool }) => tool === 'inner')
  return { world, decided }
}

describe('a call of a program', () => {
  test('is a call of the session, and names the program', async () => {
    const { world, decided } = await run([program(), inner])
    expect(decided).toMatchObject({ decision: 'allow', callId: 'c1.1', program: 'c1' })
    expect(
      world.eventsOf('ToolInvocationProposed').map(({ tool, parentCallId, program: by }) => [tool, parentCallId, by]),
    ).toEqual([
      ['code_mode', undefined, undefined], ['inner', 'c1', 'c1'],
    ])
  })

  test('is recorded with the program, beside the same call without one', async () => {
    const { world } = await run([program(), inner])
    const session = await world.host.openSession({ mode: 'yolo' })
    await session.call({ id: 'c2', name: 'inner', arguments: { k: 'v' } })
    await world.host.flush()
    const records = (await world.store.records()).map(({ record }) => record as JsonObject)
    expect(records.filter(({ type, tool }) => type === 'ToolInvocationDecided' && tool === 'inner')
      .map(({ callId, program: by }) => [callId, by])).toEqual([['c1.1', 'c1'], ['c2', undefined]])
  })

  test.each<[string, readonly ExtensionSketch[]]>([
    ['of a layer that replaces it', [program(), program({ layer: 'global', inline: false })]],
    ['that is no module of the host', [program({ inline: false })]],
    ['with another id', [program({ id: 'code-modes' })]],
  ])('has no such power in an extension %s', async (_, extensions) => {
    const { decided } = await run([...extensions, inner])
    expect(decided).toMatchObject({ decision: 'deny', stage: 'capability' })
    expect(decided).not.toHaveProperty('program')
  })

  test('has no such power if a tool called the program', async () => {
    const caller = program({ id: 'caller', layer: 'global', inline: false }, 1_000, 'code_mode')
    const outer = { ...caller, tools: { outer: caller.tools!['code_mode']! } }
    expect((await run([program(), inner, outer], 'outer')).decided).toMatchObject({
      decision: 'deny', stage: 'capability',
    })
  })

  test('stops the time of the program while a person decides', async () => {
    const clock = new ManualClock()
    const world = createWorld({
      clock, extensions: [program({}, 100), inner], config: { tools: { code_mode: { enabled: true } } },
    })
    const approver = new ScriptedApprover()
    const session = await world.host.openSession({ approver })
    const outcome = session.call(call)
    await flush()
    await clock.advance(10_000)
    expect(approver.asked).toMatchObject([
      { tool: 'inner', calledBy: ['code_mode of the bundled extension code-mode 1.0.0'] },
    ])
    approver.answer('once')
    expect(await outcome).toMatchObject({ type: 'output', data: { k: 'v' } })
  })

  test('is answered by an approval of the session, and its own approval answers others', async () => {
    const approver = new ScriptedApprover()
    const world = createWorld({ extensions: [program(), inner], config: { tools: { code_mode: { enabled: true } } } })
    const session = await world.host.openSession({ approver })
    const [direct, other] = [{ id: 'd', name: 'inner', arguments: { k: 'v' } }, { ...call, arguments: { k: 'w' } }]
    const asked = async (made: typeof direct) => {
      const outcome = session.call(made)
      await flush()
      const { length } = approver.asked
      approver.answer('session')
      return [(await outcome).type, length]
    }
    expect(await asked(direct)).toEqual(['output', 1])
    expect((await session.call(call)).type).toBe('output')
    expect(await asked(other)).toEqual(['output', 2])
    expect((await session.call({ ...direct, arguments: { k: 'w' } })).type).toBe('output')
    expect(approver.asked).toHaveLength(2)
  })

  test('ends with the program, once', async () => {
    const begun = Promise.withResolvers<void>()
    const waits: ExtensionSketch = {
      id: 'inner',
      tools: { inner: { mode: 'read', execute: () => {
        begun.resolve()
        return new Promise(() => undefined)
      } } },
    }
    const leaves = program()
    const unfinished = {
      ...leaves,
      tools: {
        code_mode: {
          ...leaves.tools!['code_mode'],
          execute: async (args: JsonObject, runtime: TwinRuntime) => {
            void runtime.services.callTool!(runtime.callId, 'inner', args, runtime.signal)
            await begun.promise
            return 'done'
          },
        },
      },
    }
    const { world } = await run([unfinished, waits])
    await flush()
    expect(world.eventsOf('ToolInvocationCancelled').map(({ tool, errorCode }) => [tool, errorCode])).toEqual([
      ['inner', 'ToolCancelled'],
    ])
    expect(world.eventsOf('ToolInvocationSucceeded').map(({ tool }) => tool)).toEqual(['code_mode'])
  })
})

describe('code mode of a session', () => {
  test('turns on the tool, for it and its sub-agents, and selects it', async () => {
    const world = createWorld({ extensions: [program(), inner] })
    const names = (session: { tools(): readonly { name: string }[] }) => session.tools().map(({ name }) => name)
    const plain = await world.host.openSession({ mode: 'yolo' })
    expect([plain.codeMode, names(plain), verdictOf(await plain.call(call))]).toEqual([
      false, ['inner'], 'ToolsDisabled',
    ])
    const coded = await world.host.openSession({ mode: 'yolo', codeMode: true, tools: ['inner'] })
    const sub = await coded.openSubagent()
    expect([coded.codeMode, names(coded), verdictOf(await coded.call(call)), sub.codeMode, names(sub)])
      .toEqual([true, ['code_mode', 'inner'], 'output', true, ['code_mode', 'inner']])
  })

  test('is refused without the tool, or if the configuration turns it off', async () => {
    await expect(createWorld({ extensions: [inner] }).host.openSession({ codeMode: true })).rejects.toMatchObject({
      code: 'ToolNotRegistered',
    })
    const off = createWorld({ extensions: [program()], config: { tools: { code_mode: { enabled: false } } } })
    await expect(off.host.openSession({ codeMode: true })).rejects.toMatchObject({ code: 'ToolsDisabled' })
  })
})
