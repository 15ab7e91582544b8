import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorCode, ValidationStage } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf } from '../home-fixture.ts'

interface MalformedFolder {
  readonly name: string
  readonly spoil: (location: string, home: HomeFixture) => void
  readonly message: RegExp
  /** Relative to the folder of the extension. */
  readonly file: string
  readonly stage?: ValidationStage
  readonly code?: ErrorCode
}

const folders: readonly MalformedFolder[] = [
  {
    name: 'no manifest', message: /no bulkhead\.json/, file: '', stage: 'shape', code: 'ShapeInvalid',
    spoil: (at) => rmSync(join(at, 'bulkhead.json')),
  },
  {
    name: 'a manifest that is a folder', message: /no bulkhead\.json/, file: '', stage: 'shape', code: 'ShapeInvalid',
    spoil: (at) => {
      rmSync(join(at, 'bulkhead.json'))
      mkdirSync(join(at, 'bulkhead.json'))
    },
  },
  {
    name: 'a manifest that is a link', message: /is a link/, file: 'bulkhead.json',
    spoil: (at, home) => {
      const target = home.write(join(home.base, 'elsewhere.json'), manifestOf())
      rmSync(join(at, 'bulkhead.json'))
      symlinkSync(target, join(at, 'bulkhead.json'))
    },
  },
  {
    name: 'a manifest that is a pipe', message: /not a regular file/, file: 'bulkhead.json',
    spoil: (at) => {
      rmSync(join(at, 'bulkhead.json'))
      execFileSync('mkfifo', [join(at, 'bulkhead.json')])
    },
  },
  {
    name: 'a manifest that is too large', message: /262144 are allowed/, file: 'bulkhead.json',
    spoil: (at, home) => home.write(join(at, 'bulkhead.json'), JSON.stringify(manifestOf()) + ' '.repeat(262_144)),
  },
  {
    name: 'a link to a file', message: /is a link/, file: 'lib/passwd',
    spoil: (at) => {
      mkdirSync(join(at, 'lib'))
      symlinkSync('/etc/passwd', join(at, 'lib', 'passwd'))
    },
  },
  { name: 'a link to a folder', message: /is a link/, file: 'up', spoil: (at) => symlinkSync('..', join(at, 'up')) },
  {
    name: 'a dangling link', message: /is a link/, file: 'gone',
    spoil: (at) => symlinkSync('nowhere', join(at, 'gone')),
  },
  {
    name: 'a pipe', message: /not a regular file/, file: 'pipe',
    spoil: (at) => execFileSync('mkfifo', [join(at, 'pipe')]),
  },
  {
    name: 'a name with a line feed', message: /a\\u\{a\}b\.js/, file: 'a\nb.js',
    spoil: (at, home) => home.write(join(at, 'a\nb.js'), ''),
  },
  {
    name: 'a name with a text direction mark', message: /invisible/, file: 'a\u{202e}sj.js',
    spoil: (at, home) => home.write(join(at, 'a\u{202e}sj.js'), ''),
  },
  {
    name: 'a name with a backslash', message: /backslash/, file: 'a\\b.js',
    spoil: (at, home) => home.write(join(at, 'a\\b.js'), ''),
  },
  {
    name: 'folders that are nested too deep', message: /32 folders deep/, file: Array(33).fill('d').join('/'),
    spoil: (at) => mkdirSync(join(at, ...Array<string>(40).fill('d')), { recursive: true }),
  },
]

describe('refuses a folder with', () => {
  test.each(folders)('refuses $name', async ({ spoil, message, file, stage = 'read', code = 'PackageUnsafe' }) => {
    using home = new HomeFixture()
    const location = home.extension(home.globalRoot, 'weather')
    spoil(location, home)
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    const place = { layer: 'global', extensionId: 'weather', location: join(location, file), path: '' }
    expect(diagnostics).toMatchObject([{ severity: 'error', stage, code, ...place }])
    expect(diagnostics[0]!.message).toMatch(message)
  })

  test('two names that collide on file systems that ignore case', async () => {
    using home = new HomeFixture()
    const location = home.extension(
      home.globalRoot, 'weather', manifestOf(), { 'index.js': '', 'Lib/a.js': '1', 'lib/b.js': '2' },
    )
    const { extensions, diagnostics } = await home.load()
    // A file system that ignores case has merged the two folders.
    const folded = readdirSync(location).length === 3
    expect(extensions).toHaveLength(folded ? 1 : 0)
    expect(diagnostics.map(({ code, location: at }) => [code, at])).toEqual(
      folded ? [] : [['PackageUnsafe', join(location, 'lib')]],
    )
  })

  test.each([
    ['files', { files: 4 }, /more than 4 files and folders/, ''],
    ['bytes of a file', { fileBytes: 99 }, /100 bytes; 99 are allowed/, 'c.js'],
    ['bytes together', { packageBytes: 300 }, /more than 300 bytes/, ''],
  ] as const)('more %s than may be', async (_, limits, message, file) => {
    using home = new HomeFixture()
    const location = home.extension(
      home.globalRoot, 'weather', manifestOf(), { 'index.js': '', 'a/b.js': '', 'c.js': 'x'.repeat(100) },
    )
    expect((await home.load()).extensions).toHaveLength(1)
    const { extensions, diagnostics } = await home.load({ limits })
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject([{ stage: 'read', code: 'PackageUnsafe', location: join(location, file) }])
    expect(diagnostics[0]!.message).toMatch(message)
  })
})
