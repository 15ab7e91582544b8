import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { About, CallsView, HealthView } from '@bulkhead/inspector/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { createHost } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { signIn } from './client.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-inspect-')) })
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the command until the test ends it. */
async function serve(...args: readonly string[]) {
  const child = spawn(process.execPath, [
    ...BUNDLED, join(import.meta.dirname, '../../src/bin.ts'), 'inspect', '--port', '0', '--workspace', folder, ...args,
  ], {
    cwd: folder, stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: join(folder, 'home'), XDG_CACHE_HOME: CACHE, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })
  const ended = once(child, 'close')
  return { child, ended, link: (await firstData(child.stdout)).trim() }
}

const POSTGRES = thoroughly(ONLY_IN_SOAK, needs('PostgreSQL'))

it('shows the calls of hosts on other machines that share a PostgreSQL', POSTGRES, async () => {
  const url = (await sharedPostgres()).url(newSchema())
  const named = (name: string) => `${url}${url.includes('?') ? '&' : '?'}name=${name}`
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store: named('far') })
  const session = await host.openSession()
  expect(await session.call({ id: 'far-call', name: 'todo', arguments: { todos: [] } })).toBeDefined()
  await host.close()
  const { child, ended, link } = await serve('--store', named('near'))
  const { items } = await (await signIn(link)).get<CallsView>('calls')
  expect(items.map(({ call, host: of }) => [call, of])).toEqual([['far-call', 'far']])
  child.kill('SIGTERM')
  await ended
})

it('serves this machine, prints links for this user only, and ends with a signal', async () => {
  const { child, ended, link } = await serve()
  expect(link).toMatch(/^http:\/\/localhost:\d+\/#[\w-]{43}$/)
  const client = await signIn(link)
  expect(await client.get<About>('about')).toMatchObject({ decide: false, scope: 'store', protocol: 1 })
  const { hosts } = await client.get<HealthView>('health')
  expect(hosts).toEqual([expect.objectContaining({ pid: child.pid, here: true })])
  const [socket] = globSync(join(folder, 'home/.bulkhead/inspect-*.sock'))
  expect((statSync(socket!).mode & 0o077).toString(8)).toBe('0')
  const { stdout } = await inside(['inspect', '--link'], folder)
  await signIn(stdout.trim())
  const second = await inside(['inspect', '--port', '0'], folder)
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('runs already')])
  child.kill('SIGTERM')
  expect((await ended)[0]).toBe(0)
  const { code, stderr } = await inside(['inspect', '--link'], folder)
  expect([code, stderr]).toEqual([1, expect.stringContaining('No inspector of this folder runs')])
})

it.each([
  ['clear text for other machines', ['--host', '0.0.0.0'], '--insecure'],
  ['half a certificate', ['--cert', 'a.pem'], '--cert and --key together'],
])('refuses %s', async (_, args, words) => {
  const { code, stderr } = await inside(['inspect', ...args], folder)
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})
