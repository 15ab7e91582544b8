import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { openSqliteStore } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { writeExtension } from '../extension-folder.ts'
import { UndoWorld } from './undo-world.ts'

const PROCESS = join(import.meta.dirname, 'fixtures/undoing-host.ts')
const NOTES = ['n1', 'n2', 'n3', 'n4', 'n5']

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
})

/** A service that counts what is deleted. The first deletion waits. */
async function startService(released: Promise<unknown>) {
  const deleted: string[] = []
  const server = createServer(async ({ method, url = '' }, response) => {
    if (method === 'DELETE') deleted.push(url.slice(1))
    if (method === 'DELETE') await released
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { deleted, place: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function start(world: UndoWorld, session: string) {
  const args = [...BUNDLED, '--no-warnings', PROCESS, world.workspace, world.home, CACHE, session]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  ending.push(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value as string | undefined
  expect(await next()).toBe('ready')
  return { child, next, begin: () => child.stdin.write('.') }
}

/** Two processes that undo the same session. The second one begins while the first one reverts. */
async function undoTwice(world: UndoWorld, whenBoth: (first: Awaited<ReturnType<typeof start>>) => unknown) {
  const released = Promise.withResolvers<void>()
  const { deleted, place } = await startService(released.promise)
  writeExtension(
    world.home, { id: 'tracker', tools: [{ name: 'note', requires: { net: { hosts: [place] } }, mode: 'external' }] },
    `
    const send = (net, id, method) => net.fetch('http://${place}/' + id, { method })
    export default { tools: { note: {
      async execute({ id }, { net }) { await send(net, id, 'PUT'); return { made: id } },
      async revert(args, { made }, { net }) { await send(net, made, 'DELETE') },
    } } }`,
  )
  world.write('kept.txt', 'old')
  const host = await world.open({ store: await openSqliteStore({ file: join(world.home, 'bulkhead.db') }) })
  const session = await host.openSession({ mode: 'yolo' })
  for (const id of NOTES) await world.call(session, 'note', { id })
  await world.call(session, 'write', { path: 'kept.txt', content: 'new' })
  await host.close()
  const [first, second] = await Promise.all([start(world, session.id), start(world, session.id)])
  first.begin()
  await first.next()
  while (deleted.length === 0) await delay(10)
  second.begin()
  await second.next()
  await whenBoth(first)
  released.resolve()
  return { first: await first.next(), second: await second.next(), deleted, kept: world.read('kept.txt') }
}

it('two processes revert each effect once', async () => {
  await using world = new UndoWorld()
  const { first, second, deleted, kept } = await undoTwice(world, () => undefined)
  expect([deleted.toSorted(), kept]).toEqual([NOTES, 'old'])
  expect(JSON.parse(first!)).toMatchObject({ applied: true, failed: [] })
  expect(JSON.parse(second!)).toMatchObject({ applied: false, alreadyUndone: true, reverts: [] })
})

it('a process that is killed does not keep the other from reverting', ONLY_IN_SOAK, async () => {
  await using world = new UndoWorld()
  const { first, second, kept } = await undoTwice(world, async ({ child }) => {
    const gone = once(child, 'close')
    child.kill('SIGKILL')
    await gone
  })
  expect([first, JSON.parse(second!), kept]).toEqual([
    undefined, expect.objectContaining({ applied: true, failed: [] }), 'old',
  ])
})
