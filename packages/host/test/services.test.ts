import { expect, test } from 'vitest'
import { createWorld } from './twin/world.ts'

test('what an extension logs becomes an event, with the call it belongs to', async () => {
  const world = createWorld({
    extensions: [{
      phases: { init: ({ log }) => log.warn('starting') },
      tools: { echo: { execute: (_, { services, callId }) => services.log({ level: 'info', text: 'working', callId }) } },
    }],
  })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c1', name: 'echo', arguments: {} })
  expect(world.eventsOf('ExtensionLog')).toMatchObject([
    {
      extensionId: 'sample', level: 'warn', text: 'starting', callId: undefined,
    }, { extensionId: 'sample', level: 'info', text: 'working', callId: 'c1' },
  ])
})

test('variables are looked up by declared name alone, when the extension starts', async () => {
  const asked: string[] = []
  const world = createWorld({ extensions: [{ env: ['TOKEN'] }], env: (name) => { asked.push(name); return 'value' } })
  const session = await world.host.openSession({ mode: 'yolo' })
  expect(asked).toEqual([])
  await session.call({ id: 'c1', name: 'echo', arguments: {} })
  expect(asked).toEqual(['TOKEN'])
  expect(world.compartment().request.services.env).toEqual(new Map([['TOKEN', 'value']]))
})
