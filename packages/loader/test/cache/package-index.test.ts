import {
  chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { LoadReport } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { emptyModule, HomeFixture, manifestOf, toolOf } from '../home-fixture.ts'
import { readIndexFile, writeIndexFile, type IndexContent } from '../../src/cache/package-index.ts'
import { PackageFixture } from '../signature/signed-package.ts'

const files = { 'index.js': 'export default {}', 'lib/a.js': 'export const a = 1', 'data/b.json': '{}' }

class WarmFixture extends HomeFixture {
  readonly cache = join(this.base, 'cache')

  warm(over: Parameters<HomeFixture['load']>[0] = {}, trust: Parameters<HomeFixture['load']>[1] = 'trusted',
    overrides: Parameters<HomeFixture['load']>[2] = {}): Promise<LoadReport> {
    return this.load({ cache: this.cache, ...over }, trust, overrides)
  }

  /** Loads until everything is cached. Files that were just written are not cached at first. */
  async remember(over: Parameters<HomeFixture['load']>[0] = {}): Promise<void> {
    const count = (await this.warm(over)).extensions.length
    await expect.poll(async () => {
      await this.warm(over)
      return this.remembered()
    }, { interval: 20 }).toBe(count)
  }

  remembered(): number {
    return this.files().reduce((sum, file) => sum + rowsOf(readFileSync(file)).length, 0)
  }

  files(): readonly string[] {
    return !existsSync(this.cache) ? [] : readdirSync(this.cache).map((name) => join(this.cache, name))
  }
}

/** The rows of an index file. The first line has their length. */
function rowsOf(bytes: Buffer): readonly unknown[] {
  const start = bytes.indexOf(0x0a) + 1
  const length = Number(bytes.toString('latin1', 0, start).split(' ')[2])
  return JSON.parse(bytes.toString('utf8', start, start + length)) as readonly unknown[]
}

/** Replaces the content, with a valid key and checksum. */
function rewrite(file: string, change: (content: IndexContent) => IndexContent): void {
  const key = readFileSync(file, 'latin1').split(' ')[1]!
  writeIndexFile(file, key, change(readIndexFile(file, key)!))
}

/** The parts of a report that are equal for equal input. */
const comparable = ({ extensions, diagnostics, config }: LoadReport) => JSON.parse(JSON.stringify({
  extensions: extensions.map(({ code, digests, ...rest }) => ({
    ...rest, kind: code.kind, digests: { ...digests, tools: [...digests.tools] },
  })),
  diagnostics, config,
})) as unknown

describe('the cache', () => {
  test('gives the same result as reading, for every layer', async () => {
    using home = new WarmFixture()
    const bundled = [{ manifest: manifestOf({ id: 'own', tools: [toolOf({ name: 'own' })] }), module: emptyModule }]
    home.extension(home.globalRoot, 'weather', manifestOf(), files)
    new PackageFixture('packed').install(home, undefined)
    home.extension(home.projectRoot, 'storms', manifestOf({ id: 'storms', dependsOn: ['weather'] }), files)
    await home.remember({ bundled })
    const warm = await home.warm({ bundled })
    expect(comparable(warm)).toEqual(comparable(await home.load({ bundled }, 'trusted', {})))
    expect(warm.extensions.map(({ id, integrity }) => [id, integrity]))
      .toEqual([['own', 'bundled'], ['packed', 'verified'], ['weather', 'unpinned'], ['storms', 'unpinned']])
    expect(Object.isFrozen(warm.extensions[2]!.manifest.tools[0]!.inputSchema)).toBe(true)
  })

  test('is parsed once, on use, and can be copied', async () => {
    using home = new WarmFixture()
    home.extension(home.globalRoot, 'weather', manifestOf(), files)
    await home.remember()
    const [extension] = (await home.warm()).extensions
    expect(extension!.manifest).toBe(extension!.manifest)
    expect(extension!.digests).toBe(extension!.digests)
    expect({ ...extension }).toMatchObject({
      id: 'weather', manifest: { id: 'weather' }, digests: { package: extension!.digests.package },
    })
    expect(Object.isFrozen(extension)).toBe(true)
    expect(() => Object.assign(extension!, { manifest: {} })).toThrow(TypeError)
  })

  test('holds no code: it is read and compared on use', async () => {
    using home = new WarmFixture()
    const at = home.extension(home.globalRoot, 'weather', manifestOf(), files)
    await home.remember()
    const { extensions: [extension] } = await home.warm()
    if (extension?.code.kind !== 'files') throw new Error('not a folder')
    expect([...(await extension.code.readFiles()).keys()].toSorted()).toEqual([
      'bulkhead.json', 'data/b.json', 'index.js', 'lib/a.js',
    ])
    writeFileSync(join(at, 'index.js'), 'export default []')
    await expect(extension.code.readFiles()).rejects.toMatchObject({ code: 'IntegrityFailed' })
  })

  test('holds no configuration, which may change', async () => {
    using home = new WarmFixture()
    const configSchema = {
      type: 'object', additionalProperties: false, properties: { unit: { enum: ['c', 'f'] } },
    } as const
    home.extension(home.globalRoot, 'weather', manifestOf({ configSchema: configSchema as never }), files)
    await home.remember()
    const codes = async (config: Parameters<HomeFixture['load']>[2]) => {
      const { extensions, diagnostics } = await home.warm({}, 'trusted', config)
      return [extensions.length, ...diagnostics.map(({ code }) => code)]
    }
    expect(await codes({})).toEqual([1])
    expect(await codes({ extensions: { weather: { config: { unit: 'k' } } } })).toEqual([0, 'ConfigSchemaViolation'])
    expect(await codes({ extensions: { weather: { config: { unit: 'c' } } } })).toEqual([1])
    expect(await codes({ extensions: { weather: { enabled: false } } })).toEqual([0])
    expect(await codes({ policy: { integrity: { global: 'require' } } })).toEqual([0, 'IntegrityTokenMissing'])
    expect(await codes({ policy: { signature: { global: 'require' } } })).toEqual([0, 'SignatureInvalid'])
  })

  test('is valid only for the same host version and limits', async () => {
    using home = new WarmFixture()
    home.extension(home.globalRoot, 'weather', manifestOf({ requiredCoreVersion: '^1.0.0' }), files)
    await home.remember()
    expect((await home.warm({ coreVersion: '2.0.0' })).diagnostics).toMatchObject([
      { code: 'RequiredCoreVersionMismatch' },
    ])
    expect((await home.warm({ limits: { files: 2 } })).diagnostics).toMatchObject([{ code: 'PackageUnsafe' }])
  })
})

describe('detects a change:', () => {
  const changes: readonly (readonly [string, (at: string, home: WarmFixture) => void])[] = [
    ['different bytes of the same length', (at) => writeFileSync(join(at, 'lib/a.js'), 'export const a = 2')],
    ['different bytes with the old modification time', (at) => {
      const { atime, mtime } = statSync(join(at, 'lib/a.js'))
      writeFileSync(join(at, 'lib/a.js'), 'export const a = 2')
      utimesSync(join(at, 'lib/a.js'), atime, mtime)
    }],
    ['an added file', (at) => writeFileSync(join(at, 'lib/c.js'), '')],
    ['a removed file', (at) => rmSync(join(at, 'data/b.json'))],
    ['a renamed file', (at) => renameSync(join(at, 'lib/a.js'), join(at, 'lib/b.js'))],
    ['an added folder', (at) => mkdirSync(join(at, 'empty'))],
    ['a replaced folder', (at, home) => {
      renameSync(at, join(home.base, 'old'))
      home.extension(home.globalRoot, 'weather', manifestOf(), { ...files, 'lib/a.js': 'export const a = 2' })
    }],
    ['a link to the same bytes', (at, home) => {
      renameSync(join(at, 'lib/a.js'), join(home.base, 'a.js'))
      symlinkSync(join(home.base, 'a.js'), join(at, 'lib/a.js'))
    }],
    ['a folder that becomes a link', (at, home) => {
      renameSync(join(at, 'lib'), join(home.base, 'lib'))
      symlinkSync(join(home.base, 'lib'), join(at, 'lib'))
    }],
  ]
  test.each(changes)('is detected: %s', async (_, change) => {
    using home = new WarmFixture()
    const at = home.extension(home.globalRoot, 'weather', manifestOf(), files)
    await home.remember()
    const before = comparable(await home.warm())
    change(at, home)
    const after = comparable(await home.warm())
    expect(after).toEqual(comparable(await home.load({}, 'trusted', {})))
    if (_ !== 'an added folder') expect(after).not.toEqual(before)
  })

  test('drops an extension that was removed', async () => {
    using home = new WarmFixture()
    rmSync(home.extension(home.globalRoot, 'weather', manifestOf(), files), { recursive: true, force: true })
    home.extension(home.globalRoot, 'storms', manifestOf({ id: 'storms' }), files)
    await home.remember()
    rmSync(join(home.globalRoot, 'tools/storms'), { recursive: true })
    expect((await home.warm()).extensions).toEqual([])
    expect(home.remembered()).toBe(0)
  })
})

describe('an index file that is', () => {
  const spoiled: readonly (readonly [string, (file: string) => void])[] = [
    [
      'damaged',
      (file) => writeFileSync(file, readFileSync(file, 'latin1').replaceAll('forecast', 'fore_ast'), 'latin1'),
    ],
    ['damaged with a valid structure', (file) => {
      const bytes = readFileSync(file)
      const at = bytes.lastIndexOf('What the weather')
      expect(at).toBeGreaterThan(0)
      bytes.write('Not', at)
      writeFileSync(file, bytes)
    }],
    ['inconsistent', (file) => rewrite(file, (parts) => ({ ...parts, stamps: parts.stamps.subarray(1) }))],
    ['malformed', (file) => rewrite(file, (parts) => ({ ...parts, rows: 7 }))],
    ['truncated', (file) => writeFileSync(file, readFileSync(file).subarray(0, 300))],
    ['empty', (file) => writeFileSync(file, '')],
    ['writable by others', (file) => {
      chmodSync(file, 0o666)
    }],
    ['a folder', (file) => {
      rmSync(file)
      mkdirSync(file)
    }],
  ]
  test.each(spoiled)('%s is ignored', async (_, spoil) => {
    using home = new WarmFixture()
    home.extension(home.globalRoot, 'weather', manifestOf({ tools: [toolOf()] }), files)
    await home.remember()
    for (const file of home.files()) spoil(file)
    const { extensions, diagnostics } = await home.warm()
    expect([extensions[0]?.manifest.tools[0]?.name, diagnostics]).toEqual(['forecast', []])
  })

  test('is optional: a write failure only costs time', async () => {
    using home = new WarmFixture()
    home.extension(home.globalRoot, 'weather', manifestOf(), files)
    writeFileSync(home.cache, 'a file')
    expect((await home.warm()).extensions).toHaveLength(1)
    expect((await home.warm()).extensions).toHaveLength(1)
  })
})
