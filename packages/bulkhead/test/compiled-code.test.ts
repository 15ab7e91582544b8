import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { userCacheFolder } from '../src/facade/folders.ts'
import { bulkhead } from './command.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-compiled-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const FROM_SOURCES: readonly string[] = []
const cache = () => join(folder, 'cache')
const own = () => join(cache(), 'bulkhead')
const run = (...args: readonly string[]) =>
  bulkhead(args, folder, { XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: undefined }, FROM_SOURCES)
/** Loads the least of all commands. */
const LIGHT = ['completion', '--help']
const kept = () => readdirSync(join(own(), 'code'), { recursive: true })

it('compiled code is cached for the next command in a private folder of the user', LONG, async () => {
  expect((await run('tools', '--help')).code).toBe(0)
  expect(kept().length).toBeGreaterThan(20)
  expect([statSync(own()), statSync(join(own(), 'code'))].map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700])
  expect((await run('tools', '--help')).code).toBe(0)
  expect(readdirSync(folder)).toEqual(['cache'])
})

it('compiled code is left to Node if its environment variables are set', LONG, async () => {
  const dir = join(folder, 'elsewhere')
  await bulkhead(LIGHT, folder, { XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: dir }, FROM_SOURCES)
  await bulkhead(LIGHT, folder, {
    XDG_CACHE_HOME: cache(), NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: '1',
  })
  expect(readdirSync(folder)).toEqual(['elsewhere'])
})

it('--version writes no cache', LONG, async () => {
  await run('--version')
  expect(existsSync(cache())).toBe(false)
})

it('a folder that others can write to is neither read nor written', async () => {
  mkdirSync(join(own(), 'code'), { recursive: true })
  chmodSync(own(), 0o777)
  expect((await run(...LIGHT)).code).toBe(0)
  expect(kept()).toEqual([])
})

it('a cache that cannot be written is not an error', LONG, async () => {
  writeFileSync(cache(), 'no folder')
  expect(await run(...LIGHT)).toMatchObject({ code: 0, stderr: '' })
})

it.each<[string, NodeJS.Platform, NodeJS.ProcessEnv, string]>([
  ['XDG_CACHE_HOME', 'linux', { XDG_CACHE_HOME: '/caches' }, '/caches/bulkhead'],
  ['the default if XDG_CACHE_HOME is relative', 'linux', { XDG_CACHE_HOME: './caches' }, '/.cache/bulkhead'],
  ['the default of Linux', 'linux', {}, '/.cache/bulkhead'],
  ['the default of macOS', 'darwin', {}, '/Library/Caches/bulkhead'],
  ['the default of Windows', 'win32', { LOCALAPPDATA: '/local' }, '/local/bulkhead/cache'],
])('the cache folder follows %s', (_, platform, env, end) => {
  expect(userCacheFolder(env, platform)).toMatch(new RegExp(`^/.*${end}$|^${end}$`))
})
