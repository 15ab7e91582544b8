import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { writeExtension } from '../extension-folder.ts'
import { UndoWorld } from './undo-world.ts'

/** A service with notes, such as an issue tracker. */
const notes = new Map<string, string>()
const server = createServer((request, response) => {
  const id = request.url!.slice(1)
  if (request.method === 'PUT') notes.set(id, 'made')
  else notes.delete(id)
  response.end()
})
let world: UndoWorld
let place: string
beforeEach(async () => {
  notes.clear()
  world = new UndoWorld()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  place = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  await world[Symbol.asyncDispose]()
  server.closeAllConnections()
  await new Promise((closed) => void server.close(closed))
})

/** In a process of its own. It writes a file too. */
const extension = (): void => {
  const requires = { net: { hosts: [place] }, fs: { write: ['{workspace}'] } }
  writeExtension(
    world.home,
    { id: 'tracker', tools: [{ name: 'note', requires, mode: 'external', gated: true }, { name: 'plain' }] },
    `
    export default { tools: {
      note: {
        async execute({ id }, { net, fs }) {
          await net.fetch('http://${place}/' + id, { method: 'PUT' })
          await fs.write('last.txt', id)
          return { made: id }
        },
        async revert({ id, stubborn }, { made }, { net, toolName }) {
          if (stubborn) throw new Error('the service keeps ' + made + ' of ' + toolName)
          await net.fetch('http://${place}/' + made, { method: 'DELETE' })
        },
      },
      plain: { execute: () => 'x' },
    } }`,
  )
}

it('an extension reverts what its call did elsewhere, with its own grant and through the whole pipeline', async () => {
  extension()
  const host = await world.open()
  const session = await host.openSession({ mode: 'yolo' })
  expect(await world.call(session, 'note', { id: 'n1' }, 'first')).toEqual({ made: 'n1' })
  expect(await world.call(session, 'note', { id: 'n2' }, 'second')).toEqual({ made: 'n2' })
  await world.call(session, 'plain', {}, 'third')
  expect([...notes.keys()]).toEqual(['n1', 'n2'])

  expect(await world.call(session, 'undo', { call: 'second', dry_run: true })).toMatchObject({
    reverts: [{ call: 'second', tool: 'note' }],
  })
  expect([...notes.keys()]).toEqual(['n1', 'n2'])
  const seen: string[] = []
  host.on((event) => { if (event.type === 'ToolInvocationSucceeded') seen.push(`${event.callId} ${event.tool}`) })
  expect(await world.call(session, 'undo', {}, 'undo-1')).toMatchObject({ applied: true, failed: [] })
  expect([...notes.keys()]).toEqual(['n1'])
  expect(world.read('last.txt')).toBe('n1')
  expect(seen).toEqual(['undo-1.1 note', 'undo-1 undo'])
  // The second is undone, and is not reverted again with the session.
  notes.set('n2', 'made by a person')
  await world.call(session, 'undo', { session: true })
  expect([...notes.keys()]).toEqual(['n2'])
})

it('asks a person for the revert, obeys rules, and reports what failed', async () => {
  extension()
  const host = await world.open()
  const session = await host.openSession({ mode: 'yolo' })
  await world.call(session, 'note', { id: 'n1', stubborn: true }, 'first')
  await world.call(session, 'note', { id: 'n2' }, 'second')
  const reasons: (readonly string[])[] = []
  const asking = await host.openSession({
    continues: session.id,
    approver: {
      approve: async ({ reasons: why, tool }) => {
        reasons.push([tool, ...why])
        return { decision: 'once' }
      },
    },
  })
  expect(await world.call(asking, 'undo', { call: 'first', force: true })).toMatchObject({
    failed: [{ call: 'first', tool: 'note', message: expect.stringMatching(/the service keeps n1 of note/) }],
  })
  expect(reasons[1]).toEqual(['note', 'undo wants to revert an earlier call with these arguments', expect.any(String)])
  const denied = await host.openSession({
    mode: 'yolo', continues: session.id, rules: [{ permission: 'note', pattern: '*', action: 'deny' }],
  })
  expect(await world.call(denied, 'undo', { call: 'second', force: true })).toMatchObject({
    failed: [{ call: 'second' }],
  })
  expect([...notes.keys()]).toEqual(['n1', 'n2'])
})
