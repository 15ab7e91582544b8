import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type ExtensionDescriptor } from '@bulkhead/contract'
import { expect, test } from 'vitest'
import { HomeFixture, manifestOf } from '../home-fixture.ts'

const files = {
  'index.js': 'export { a as default } from "./lib/a.js"', 'lib/a.js': 'export const a = {}',
  'data.bin': new Uint8Array([0, 255, 10]), empty: '',
}

interface Loaded {
  readonly location: string
  read(): Promise<ReadonlyMap<string, Uint8Array>>
}

async function loaded(home: HomeFixture): Promise<Loaded> {
  const location = home.extension(home.globalRoot, 'weather', manifestOf(), files)
  const { extensions } = await home.load()
  const code: ExtensionDescriptor['code'] = extensions[0]!.code
  if (code.kind !== 'files') throw new Error('not a folder')
  return { location, read: () => code.readFiles() }
}

test('returns the exact bytes, each in its own buffer', async () => {
  using home = new HomeFixture()
  home.write(join(home.globalRoot, 'tools', 'weather', 'bulkhead.json'), '')
  const { read } = await loaded(home)
  const bytes = await read()
  expect([...bytes.keys()].toSorted()).toEqual(['bulkhead.json', 'data.bin', 'empty', 'index.js', 'lib/a.js'])
  expect(bytes.get('data.bin')).toEqual(files['data.bin'])
  expect(new TextDecoder().decode(bytes.get('lib/a.js'))).toBe(files['lib/a.js'])
  for (const file of bytes.values()) expect(file.buffer.byteLength).toBe(file.length)
  expect((await read()).get('index.js')).not.toBe(bytes.get('index.js'))
})

test.each([
  [
    'a changed file', 'changed', 'lib/a.js',
    (home: HomeFixture, at: string) => home.write(join(at, 'lib/a.js'), 'export const a = 0'),
  ],
  [
    'a file of the same length', 'changed', 'lib/a.js',
    (home: HomeFixture, at: string) => home.write(join(at, 'lib/a.js'), 'export const a = []'),
  ],
  ['a missing file', 'missing', 'data.bin', (_: HomeFixture, at: string) => rmSync(join(at, 'data.bin'))],
  ['an extra file', 'extra', 'lib/b.js', (home: HomeFixture, at: string) => home.write(join(at, 'lib/b.js'), '')],
  [
    'a changed manifest', 'changed', 'bulkhead.json',
    (home: HomeFixture, at: string) => home.write(join(at, 'bulkhead.json'), manifestOf({ version: '2.0.0' })),
  ],
])('reports %s and returns nothing', async (_, change, path, spoil) => {
  using home = new HomeFixture()
  const { location, read } = await loaded(home)
  spoil(home, location)
  const error: unknown = await read().then(() => undefined, (thrown: unknown) => thrown)
  if (!BulkheadError.is(error)) throw new Error('was handed out')
  expect(error.code).toBe('IntegrityFailed')
  expect(error.message).toContain(path)
  expect(error.message).toContain(change)
  expect(error.data).toEqual({ extension: 'weather', differences: [{ path, change }] })
})

test.each([
  ['a file that became a link to equal bytes', 'is a link', (_: HomeFixture, at: string) => {
    renameSync(join(at, 'index.js'), join(at, '..', '..', 'moved.js'))
    symlinkSync(join(at, '..', '..', 'moved.js'), join(at, 'index.js'))
  }],
  ['a folder that became a link', 'is a link', (_: HomeFixture, at: string) => {
    renameSync(join(at, 'lib'), join(at, '..', '..', 'moved'))
    symlinkSync(join(at, '..', '..', 'moved'), join(at, 'lib'))
  }],
  ['a file that became a folder', 'is missing', (_: HomeFixture, at: string) => {
    rmSync(join(at, 'index.js'))
    mkdirSync(join(at, 'index.js'))
  }],
  ['a removed folder', 'does not exist', (_: HomeFixture, at: string) => rmSync(at, { recursive: true })],
])('rejects %s', async (_, message, spoil) => {
  using home = new HomeFixture()
  const { location, read } = await loaded(home)
  spoil(home, location)
  await expect(read()).rejects.toMatchObject({
    code: 'IntegrityFailed', message: expect.stringContaining(message) as string,
  })
})

test('accepts the change under another digest when loaded again', async () => {
  using home = new HomeFixture()
  const { location, read } = await loaded(home)
  const before = (await home.load()).extensions[0]!
  home.write(join(location, 'lib/a.js'), 'export const a = 2')
  await expect(read()).rejects.toMatchObject({ code: 'IntegrityFailed' })
  const after = (await home.load()).extensions[0]!
  expect(after.digests.package).not.toBe(before.digests.package)
  expect(after.digests.capability).toBe(before.digests.capability)
  expect(after.code.kind === 'files' && new TextDecoder().decode((await after.code.readFiles()).get('lib/a.js'))).toBe(
    'export const a = 2',
  )
})
