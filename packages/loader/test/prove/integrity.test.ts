import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HomeFixture, manifestOf } from '../home-fixture.ts'

const sha512 = (data: string) => createHash('sha512').update(data).digest('hex')
const sources = {
  'index.js': 'export default {}', 'lib/ä.js': 'export const a = 1', 'bulkhead.json': JSON.stringify(manifestOf()),
}

/** Written by hand from the format, not with the tested code. */
function integrityOf(files: Record<string, string>) {
  const digests = Object.entries(files).map(([path, text]) => [path, sha512(text)] as const)
  const lines = digests.toSorted(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
  return {
    algorithm: 'sha512', files: Object.fromEntries(digests),
    root: sha512(lines.map(([path, digest]) => `${path}\0${digest}\n`).join('')),
  }
}

function packed(home: HomeFixture, integrity: object | string = integrityOf(sources)): string {
  return home.extension(home.globalRoot, 'weather', sources['bulkhead.json'], {
    'index.js': sources['index.js'], 'lib/ä.js': sources['lib/ä.js'], 'bulkhead.integrity.json': integrity,
  })
}

describe('an integrity file', () => {
  test('does not change the digest of the package', async () => {
    using home = new HomeFixture()
    rmSync(join(packed(home), 'bulkhead.integrity.json'))
    const { extensions } = await home.load()
    expect(extensions).toMatchObject([{ integrity: 'unpinned', digests: { package: integrityOf(sources).root } }])
  })

  test.each([
    [
      'a changed byte', 'index.js', /"index\.js" has changed/,
      (home: HomeFixture, at: string) => home.write(join(at, 'index.js'), 'export default []'),
    ],
    [
      'a missing file', 'lib/ä.js', /"lib\/ä\.js" is missing/,
      (_: HomeFixture, at: string) => rmSync(join(at, 'lib/ä.js')),
    ],
    [
      'an extra file', 'lib/evil.js', /"lib\/evil\.js" is extra/,
      (home: HomeFixture, at: string) => home.write(join(at, 'lib/evil.js'), ''),
    ],
  ])('shows %s, with its path', async (_, file, message, change) => {
    using home = new HomeFixture()
    const location = packed(home)
    change(home, location)
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    expect(diagnostics[0]).toMatchObject(
      {
        severity: 'error', stage: 'integrity', code: 'IntegrityFailed', extensionId: 'weather',
        location: join(location, file),
      },
    )
    expect(diagnostics[0]!.message).toMatch(message)
  })

  const right = integrityOf(sources)
  test.each([
    ['is not JSON', 'nonsense', ''],
    ['is not an object', '[]', ''],
    ['has a duplicate key', JSON.stringify(right).replace('{', '{"algorithm":"sha512",'), '/algorithm'],
    ['has an unknown key', { ...right, signature: 'x' }, '/signature'],
    ['has another algorithm', { ...right, algorithm: 'md5' }, '/algorithm'],
    ['has no files', { ...right, files: [] }, '/files'],
    ['has an invalid digest', { ...right, files: { ...right.files, 'index.js': 'abc' } }, '/files'],
    [
      'has a digest in capitals',
      { ...right, files: { ...right.files, 'index.js': right.files['index.js']!.toUpperCase() } },
      '/files',
    ],
    ['has no root', { ...right, root: null }, '/root'],
    ['has another root', { ...right, root: sha512('') }, '/root'],
  ])('that %s is refused', async (_, integrity, path) => {
    using home = new HomeFixture()
    const location = packed(home, integrity)
    const { extensions, diagnostics } = await home.load()
    expect(extensions).toEqual([])
    expect(diagnostics).toMatchObject(
      [{ stage: 'integrity', code: 'IntegrityFailed', path, location: join(location, 'bulkhead.integrity.json') }],
    )
  })
})

describe('policies', () => {
  test.each([
    ['off', 'unpinned', []], [
      'warn', 'unpinned',
      [{ severity: 'warning', stage: 'integrity', code: 'IntegrityTokenMissing', extensionId: 'weather' }],
    ],
    [
      'require', undefined,
      [{ severity: 'error', stage: 'integrity', code: 'IntegrityTokenMissing', extensionId: 'weather' }],
    ],
  ] as const)('integrity: %s', async (level, status, expected) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    const { extensions, diagnostics } = await home.load({}, 'trusted', { policy: { integrity: { global: level } } })
    expect(extensions.map(({ integrity }) => integrity)).toEqual(status === undefined ? [] : [status])
    expect(diagnostics).toMatchObject(expected)
  })

  test('a package with an integrity file satisfies the strictest policy', async () => {
    using home = new HomeFixture()
    packed(home)
    const { extensions, diagnostics } = await home.load({}, 'trusted', { policy: { integrity: { global: 'require' } } })
    expect([extensions.length, diagnostics]).toEqual([1, []])
  })
})
