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

test('secrets go to the broker with where they may be used, and nowhere else', async () => {
  const tools = { fetch: { requires: { net: { hosts: ['api.example.com'] }, shell: [{ cmd: 'git' }] } } }
  const secrets = [{ name: 'KEY', hosts: ['api.example.com'] }, { name: 'UNSET', commands: ['git'] }]
  const world = createWorld({ extensions: [{ tools, secrets }], env: (name) => ({ KEY: 'the canary sings' })[name] })
  const session = await world.host.openSession({ mode: 'yolo' })
  const outcome = await session.call({ id: 'c1', name: 'fetch', arguments: {} })
  const { request } = world.compartment()
  expect(request.services.secrets).toEqual(new Map([
    ['KEY', { value: 'the canary sings', hosts: ['api.example.com'], commands: [] }],
    ['UNSET', { value: undefined, hosts: [], commands: ['git'] }],
  ]))
  expect(request.services.env).toEqual(new Map())
  const { services: _, ...rest } = request
  expect(JSON.stringify([outcome, world.events, world.host.tools(), rest])).not.toContain('the canary sings')
})
