import type { Json } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { createWorld, type ToolSketch } from '../twin/world.ts'

const counting: ToolSketch = {
  requires: { capabilities: ['session'] },
  gated: false,
  mode: 'safe_write',
  async execute(args, { services, callId }) {
    const { id, data } = await services.session!.read(callId)
    if (args['data'] !== undefined) await services.session!.write(callId, args['data'])
    return { id, data }
  },
}

test('session memory is private to the session', async () => {
  const { host } = createWorld({
    extensions: [{ tools: { note: counting } }, { id: 'other', tools: { peek: counting } }],
  })
  const [one, two] = [await host.openSession(), await host.openSession()]
  const read = async (session: typeof one, name: string, args = {}): Promise<Json | string> => {
    const outcome = await session.call({ id: 'c', name, arguments: args })
    return outcome.type === 'output' ? outcome.data : outcome.error.code
  }
  expect(await read(one, 'note', { data: ['kept'] })).toEqual({ id: one.id, data: null })
  expect(await read(one, 'note')).toEqual({ id: one.id, data: ['kept'] })
  expect(await read(two, 'note')).toEqual({ id: two.id, data: null })
  expect(await read(one, 'peek')).toEqual({ id: one.id, data: null })
  expect(await read(one, 'note', { data: 'x'.repeat(300_000) })).toBe('StateInvalid')
  expect(await read(one, 'note')).toEqual({ id: one.id, data: ['kept'] })
})

test('session memory holds a copy of JSON, limited in size, for each extension', async () => {
  const given: { list: Json[] } = { list: [1] }
  const keep = (what: () => unknown): ToolSketch => ({
    ...counting, execute: async (_args, { services, callId }) => {
      await services.session!.write(callId, what() as Json)
      return (await services.session!.read(callId)).data
    },
  })
  const { host } = createWorld({
    extensions: [
      {
        tools: {
          note: keep(() => given), odd: keep(() => ({ n: Number.NaN })), look: counting,
          full: keep(() => 'x'.repeat(256 * 1024 - 2)), over: keep(() => 'x'.repeat(256 * 1024 - 1)),
        },
      },
      { id: 'other', tools: { peer: keep(() => 'of the other') } },
    ],
  })
  const session = await host.openSession()
  const call = (name: string) => session.call({ id: 'c', name, arguments: {} })
  expect([await call('note'), await call('peer')]).toMatchObject([{ data: { list: [1] } }, { data: 'of the other' }])
  given.list.push(2)
  expect(await call('odd')).toMatchObject({
    error: { code: 'StateInvalid' }, error_text: expect.stringContaining('/n'),
  })
  expect(await call('over')).toMatchObject({ error: { code: 'StateInvalid' } })
  expect(await call('look')).toMatchObject({ data: { data: { list: [1] } } })
  expect(await call('full')).toMatchObject({ type: 'output' })
})

test('session memory needs a call and the capability', async () => {
  const world = createWorld({ extensions: [{ tools: { note: counting } }, { id: 'plain' }] })
  const session = await world.host.openSession({ mode: 'yolo' })
  await session.call({ id: 'c', name: 'note', arguments: {} })
  await expect(world.compartment().request.services.session!.read('c')).rejects.toMatchObject({
    code: 'CapabilityDenied',
  })
  await session.call({ id: 'c', name: 'echo', arguments: {} })
  expect(world.compartment('plain')?.request.services.session).toBeUndefined()
})
