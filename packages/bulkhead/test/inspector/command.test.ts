import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { About, HealthView } from '@bulkhead/inspector/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { bulkhead } from '../command.ts'
import { CACHE } from '../cache.ts'
import { signIn } from './client.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-inspect-')) })
afterEach(() => rmSync(folder, { recursive: true }))

it('serves this machine, prints links for this user only, and ends with a signal', async () => {
  const child = spawn(process.execPath, [
    join(import.meta.dirname, '../../src/bin.ts'), 'inspect', '--port', '0', '--workspace', folder,
  ], {
    cwd: folder, stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: join(folder, 'home'), XDG_CACHE_HOME: CACHE, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })
  const ended = once(child, 'close')
  const link = (await firstData(child.stdout)).trim()
  expect(link).toMatch(/^http:\/\/localhost:\d+\/#[\w-]{43}$/)
  const client = await signIn(link)
  expect(await client.get<About>('about')).toMatchObject({ decide: false, scope: 'store', protocol: 1 })
  const { hosts } = await client.get<HealthView>('health')
  expect(hosts).toEqual([expect.objectContaining({ pid: child.pid, here: true })])
  const [socket] = globSync(join(folder, 'home/.bulkhead/inspect-*.sock'))
  expect((statSync(socket!).mode & 0o077).toString(8)).toBe('0')
  const { stdout } = await bulkhead(['inspect', '--link'], folder)
  await signIn(stdout.trim())
  const second = await bulkhead(['inspect', '--port', '0'], folder)
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('runs already')])
  child.kill('SIGTERM')
  expect((await ended)[0]).toBe(0)
  const { code, stderr } = await bulkhead(['inspect', '--link'], folder)
  expect([code, stderr]).toEqual([1, expect.stringContaining('No inspector of this folder runs')])
})

it.each([
  ['clear text for other machines', ['--host', '0.0.0.0'], '--insecure'],
  ['half a certificate', ['--cert', 'a.pem'], '--cert and --key together'],
])('refuses %s', async (_, args, words) => {
  const { code, stderr } = await bulkhead(['inspect', ...args], folder)
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})
