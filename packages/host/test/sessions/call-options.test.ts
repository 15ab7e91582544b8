import type { CallLog, CallProgress } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { createWorld, verdictOf } from '../twin/world.ts'

const CALL = { id: 'c1', name: 'echo', arguments: { city: 'Oslo' } }
const { signal } = new AbortController()

test.each<[string, unknown, string]>([
  ['null', null, 'cannot be null. Pass an object.'],
  ['a signal that is none', { signal: 5 }, 'Pass an AbortSignal.'],
  ['a controller for its signal', { signal: new AbortController() }, 'Pass an AbortSignal.'],
  ['progress to no function', { onProgress: {} }, 'Pass a function.'],
  ['a slip', { timeout: 5 }, 'Did you mean "timeoutMs"?'],
])('an invalid option is the error of the call: %s', async (_, options, message) => {
  const world = createWorld()
  const session = await world.host.openSession({ mode: 'yolo' })
  const refused = {
    error: { code: 'InputInvalid' }, error_text: expect.stringContaining(message), metadata: { attempt: 0 },
  }
  expect(await session.call(CALL, options as never)).toMatchObject(refused)
  expect(await session.callAll([CALL, { ...CALL, id: 'c2' }], options as never)).toMatchObject([refused, refused])
  expect(world.sandbox.requests).toEqual([])
  expect(verdictOf(await session.call(CALL, { signal }))).toBe('output')
  await session.close()
})

test('steering must be a function, and the signal of a turn a signal', async () => {
  const session = await createWorld().host.openSession({ mode: 'yolo' })
  expect((await session.callAll([CALL], { steering: true as never })).map(verdictOf)).toEqual(['InputInvalid'])
  expect(() => session.beginTurn({ signal: 5 as never })).toThrow('Pass an AbortSignal.')
  expect(() => session.beginTurn(null as never)).toThrow('The options of beginTurn cannot be null')
  session.beginTurn({ signal })
  await session.endTurn()
})

test('onProgress gets messages and updates of the tool and of tools it calls, and none after the outcome', async () => {
  const seen: CallProgress[] = []
  let late = (): void => undefined
  const world = createWorld({
    extensions: [
      {
        id: 'outer', tools: { outer: {
          mode: 'read', requires: { fs: { read: ['{workspace}'] }, capabilities: ['tools.call'] },
          execute: async (_, runtime) => {
            late = () => runtime.progress('late')
            runtime.progress('half')
            runtime.update({ done: 0.5 })
            await runtime.services.callTool!(runtime.callId, 'inner', {}, runtime.signal)
            return 'done'
          },
        } },
      },
      { id: 'inner', tools: { inner: { execute: (_, runtime) => { runtime.progress('inside'); return 1 } } } },
    ],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  const call = (id: string, onProgress: (progress: CallProgress) => void) =>
    session.call({ id, name: 'outer', arguments: {} }, { onProgress })
  expect(verdictOf(await call('c1', (progress) => void seen.push(progress)))).toBe('output')
  late()
  expect(seen).toEqual([
    { callId: 'c1', tool: 'outer', text: 'half' }, { callId: 'c1', tool: 'outer', partial: { done: 0.5 } },
    { callId: 'c1.1', tool: 'inner', text: 'inside' },
  ])
  expect(verdictOf(await call('c2', () => { throw new Error('broken') }))).toBe('output')
  expect(world.eventsOf('SuppressedError')).toContainEqual(
    expect.objectContaining({ source: 'onProgress', message: 'broken' }),
  )
})

test('onLog gets the lines of the tool and of tools that it calls, and none of other calls', async () => {
  const seen: CallLog[] = []
  const world = createWorld({
    extensions: [{
      id: 'logger', tools: { logger: { execute: (_, { callId, services }) => {
        services.log({ level: 'info', text: 'mine', callId })
        services.log({ level: 'warn', text: 'of no call', callId: undefined })
        services.log({ level: 'warn', text: 'of an unknown call', callId: 'c9' })
        return 1
      } } },
    }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c1', name: 'logger', arguments: {} }, { onLog: (line) => void seen.push(line) })
  await session.call({ id: 'c2', name: 'logger', arguments: {} })
  expect(seen).toEqual([{ callId: 'c1', tool: 'logger', level: 'info', text: 'mine' }])
  expect(world.eventsOf('ExtensionLog')).toHaveLength(6)
})

test('an update that a hook drops does not reach onProgress', async () => {
  const seen: CallProgress[] = []
  const world = createWorld({
    extensions: [
      {
        id: 'echo',
        tools: {
          echo: {
            execute: (_, { update }) => {
              update('secret')
              update('open')
              return 1
            },
          },
        },
      },
    ],
  })
  const session = await world.host.openSession({
    mode: 'yolo', hooks: { beforeToolExecutionUpdate: (_, partial) => partial !== 'secret' },
  })
  await session.callAll([CALL], { onProgress: (progress) => void seen.push(progress) })
  expect(seen).toEqual([{ callId: 'c1', tool: 'echo', partial: 'open' }])
})
