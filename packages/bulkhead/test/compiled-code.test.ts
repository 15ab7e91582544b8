import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { userCacheFolder } from '../src/facade/folders.ts'
import { bulkhead } from './command.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-compiled-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const cache = () => join(folder, 'cache')
const own = () => join(cache(), 'bulkhead')
const run = (...args: readonly string[]) => bulkhead(args, folder, { XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: undefined })
const kept = () => readdirSync(join(own(), 'code'), { recursive: true })

it('is kept for the next command in a folder of the user’s own', async () => {
  expect((await run('audit', '--help')).code).toBe(0)
  expect(kept().length).toBeGreaterThan(20)
  expect([statSync(own()), statSync(join(own(), 'code'))].map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700])
  expect((await run('audit', '--help')).code).toBe(0)
  expect(readdirSync(folder)).toEqual(['cache'])
})

it('is left to Node where its own variables speak of it', async () => {
  const dir = join(folder, 'elsewhere')
  await bulkhead(['audit', '--help'], folder, { XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: dir })
  await bulkhead(['audit', '--help'], folder, { XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: '1' })
  expect(readdirSync(folder)).toEqual(['elsewhere'])
})

it('is not kept by who only asks for the version', async () => {
  await run('--version')
  expect(existsSync(cache())).toBe(false)
})

it('is neither kept nor believed where others can write', async () => {
  mkdirSync(join(own(), 'code'), { recursive: true })
  chmodSync(own(), 0o777)
  expect((await run('audit', '--help')).code).toBe(0)
  expect(kept()).toEqual([])
})

it('costs nothing but time where it cannot be kept', async () => {
  writeFileSync(cache(), 'no folder')
  expect(await run('audit', '--help')).toMatchObject({ code: 0, stderr: '' })
})

it.each<[string, NodeJS.Platform, NodeJS.ProcessEnv, string]>([
  ['as the user says', 'linux', { XDG_CACHE_HOME: '/caches' }, '/caches/bulkhead'],
  ['never where one stands', 'linux', { XDG_CACHE_HOME: './caches' }, '/.cache/bulkhead'],
  ['as Linux has it', 'linux', {}, '/.cache/bulkhead'],
  ['as macOS has it', 'darwin', {}, '/Library/Caches/bulkhead'],
  ['as Windows has it', 'win32', { LOCALAPPDATA: '/local' }, '/local/bulkhead/cache'],
])('lies %s', (_, platform, env, end) => {
  expect(userCacheFolder(env, platform)).toMatch(new RegExp(`^/.*${end}$|^${end}$`))
})
