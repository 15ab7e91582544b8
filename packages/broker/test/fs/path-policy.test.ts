import { describe, expect, it } from 'vitest'
import type { Disk, NameFolding } from '../../src/fs/disk.ts'
import { PathPolicy } from '../../src/fs/path-policy.ts'
import { pathsOf } from '../../src/fs/paths.ts'
import type { Reach } from '../../src/fs/path-patterns.ts'
import { codeOf } from './setup.ts'
import { FoldingDisk, type Tree } from './folding-disk.ts'

interface World {
  readonly platform: NodeJS.Platform
  readonly workspace: string
  readonly tree: Tree
  readonly folding: NameFolding
  readonly patterns: readonly string[]
  readonly aliases?: ReadonlyMap<string, string>
}

function policyOf({ platform, workspace, tree, folding, patterns, aliases }: World): {
  readonly disk: FoldingDisk
  readonly where: (given: string, reach?: Reach) => Promise<string>
  readonly isAt: (where: string, real: string) => boolean
} {
  const paths = pathsOf(platform)
  const root = paths.read(workspace, '/')
  const disk = new FoldingDisk('path' in root ? root.path : '', tree, folding, aliases)
  const policy = new PathPolicy({
    power: 'fs.read', platform, paths, disk, workspace, roots: [workspace], reserved: [], readOnly: [],
    patterns: patterns.map((pattern) => (pattern === '' ? workspace : `${workspace}/${pattern}`)),
  })
  return {
    disk,
    isAt: (where, real) => policy.isAt(where, real),
    where: (given, reach = 'covers') =>
      policy.locate(given, reach).then(({ real }) => real, (error: { code: string }) => error.code),
  }
}

const SENSITIVE: NameFolding = { case: false, normal: false }
const CASE: NameFolding = { case: true, normal: false }
const BOTH: NameFolding = { case: true, normal: true }
const COMPOSED = 'gr\u00fc\u00dfe.txt'
const APART = 'gru\u0308\u00dfe.txt'
const tree: Tree = {
  'Secret.txt': '', [COMPOSED]: '', Docs: { 'Read.Me': '', Deep: { 'A.md': '' } }, Other: { 'x.txt': '' },
  alias: { link: 'DOCS' }, 'way-out': { link: '../ws-evil' },
}

describe('on a case-sensitive file system', () => {
  it('treats another spelling as another file', async () => {
    const patterns = ['Secret.txt', 'Docs/**']
    const { where } = policyOf({ platform: 'linux', workspace: '/home/ws', tree, folding: SENSITIVE, patterns })
    expect(await where('Secret.txt')).toBe('/home/ws/Secret.txt')
    for (const given of ['secret.TXT', 'docs/Read.Me', '/HOME/ws/Secret.txt', '/home/WS/Secret.txt']) {
      expect(await where(given), given).toBe('CapabilityDenied')
    }
    expect(await where('Docs/read.me')).toBe('/home/ws/Docs/read.me')
  })
})

describe('on a file system that folds names', () => {
  const world = { platform: 'darwin', workspace: '/Users/me/ws', tree, folding: BOTH } as const

  it('checks every spelling by the name on disk', async () => {
    const { where } = policyOf({ ...world, patterns: ['Secret.txt', 'docs/**', COMPOSED] })
    for (const given of ['Secret.txt', 'secret.TXT', 'SECRET.TXT', '/users/ME/ws/secret.txt']) {
      expect(await where(given), given).toBe('/Users/me/ws/Secret.txt')
    }
    expect(await where('DOCS/deep/a.MD')).toBe('/Users/me/ws/Docs/Deep/A.md')
    for (const given of [COMPOSED, APART, APART.toUpperCase().replace('SS', '\u00df')]) {
      expect(await where(given), given).toBe(`/Users/me/ws/${COMPOSED}`)
    }
  })

  it('denies names outside the grant in every spelling', async () => {
    const { where } = policyOf({ ...world, patterns: ['Secret.txt', 'docs/*.me', 'Docs/Deep'] })
    const outside = [
      'Other/x.txt', 'OTHER/X.TXT', 'docs/DEEP/../../other/x.txt', 'docs', 'way-out', 'WAY-OUT', '..', '../WS-evil',
    ]
    for (const given of outside) {
      expect(await where(given), given).toBe('CapabilityDenied')
    }
    expect(await where('DOCS/read.ME')).toBe('/Users/me/ws/Docs/Read.Me')
  })

  it('checks a path that does not exist yet in every spelling', async () => {
    const { where } = policyOf({ ...world, patterns: ['New.txt', 'docs/*.md'] })
    expect(await where('new.TXT')).toBe('/Users/me/ws/new.TXT')
    expect(await where('DOCS/later.MD')).toBe('/Users/me/ws/Docs/later.MD')
    expect(await where('newer.txt')).toBe('CapabilityDenied')
    expect(await where('other/later.md')).toBe('CapabilityDenied')
  })

  it('resolves a link by the name on disk', async () => {
    const { where } = policyOf({ ...world, patterns: ['docs/**', 'alias/**'] })
    expect(await where('ALIAS/read.me')).toBe('/Users/me/ws/Docs/Read.Me')
  })

  it('denies a name that its folder does not list', async () => {
    const aliases = new Map([['SECRET~1.TXT', 'Secret.txt'], ['OTHER~1', 'Other']])
    const { where } = policyOf({ ...world, folding: CASE, patterns: ['**'], aliases })
    expect(await where('SECRET~1.TXT')).toBe('CapabilityDenied')
    expect(await where('OTHER~1/x.txt')).toBe('CapabilityDenied')
    expect(await where('secret.txt')).toBe('/Users/me/ws/Secret.txt')
  })

  it('does not fold letters without a single counterpart', async () => {
    const odd: Tree = { 'kelvin.txt': '', strasse: '', '\u0130': '' }
    const patterns = ['\u212aelvin.txt', 'stra\u00dfe', 'i\u0307']
    const { where } = policyOf({ ...world, platform: 'linux', tree: odd, folding: CASE, patterns })
    for (const given of ['kelvin.txt', 'KELVIN.TXT', 'strasse', 'STRASSE', '\u0130']) {
      expect(await where(given), given).toBe('CapabilityDenied')
    }
  })
})

describe('on Windows', () => {
  const world = {
    platform: 'win32', workspace: 'C:\\Users\\me\\ws', tree, folding: CASE, patterns: ['docs/**', 'Secret.txt'],
    aliases: new Map([['LONGNA~1', 'Docs']]),
  } as const

  it('accepts every form of a path inside the grant', async () => {
    const { where } = policyOf(world)
    for (const given of [
      'docs\\read.me', 'DOCS/Read.Me', 'c:\\users\\ME\\WS\\docs\\read.me', '\\\\?\\C:\\Users\\me\\ws\\Docs\\Read.Me',
      '\\??\\c:\\Users\\me\\ws\\docs\\READ.ME', '\\Users\\me\\ws\\docs\\read.me', 'other\\..\\docs\\.\\read.me',
    ]) expect(await where(given), given).toBe('C:/Users/me/ws/Docs/Read.Me')
  })

  it('denies alternative names of a file without accessing the disk', async () => {
    const { where, disk } = policyOf(world)
    await where('docs')
    const before = disk.touched.length
    for (const given of [
      'LONGNA~1\\read.me', 'docs.\\read.me', 'docs \\read.me', 'docs\\read.me::$DATA', 'docs\\read.me.', 'docs\\nul',
      'docs\\con.txt',
      'C:docs\\read.me', '\\\\.\\C:\\Users\\me\\ws\\docs\\read.me', '\\\\?\\C:\\Users\\me\\ws\\docs\\..\\docs\\read.me',
      '\\\\localhost\\C$\\Users\\me\\ws\\docs\\read.me', 'D:\\Users\\me\\ws\\docs\\read.me', '..\\ws-evil\\x',
      'C:\\Users\\me\\ws-evil\\docs',
      '\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1\\Users\\me\\ws\\docs\\read.me',
    ]) expect(await where(given), given).toBe('CapabilityDenied')
    expect(disk.touched.length).toBe(before)
  })

  it('parses every kind of link by the same rules', async () => {
    const links: Tree = {
      Docs: {
        'a.md': '', junction: { link: 'C:\\Users\\me\\ws\\Docs' },
        verbatim: { link: '\\\\?\\C:\\Users\\me\\ws\\docs\\a.md' },
        out: { link: 'C:\\Windows' }, share: { link: '\\\\server\\share\\x' }, volume: { link: '\\\\?\\Volume{1}\\x' },
        stream: { link: 'a.md:x' }, up: { link: '..\\..\\ws-evil' },
      },
    }
    const { where } = policyOf({ ...world, tree: links, patterns: ['docs/**'] })
    expect(await where('docs\\junction\\A.MD')).toBe('C:/Users/me/ws/Docs/a.md')
    expect(await where('docs\\verbatim')).toBe('C:/Users/me/ws/Docs/a.md')
    for (const name of ['out', 'out\\x', 'share', 'volume', 'stream', 'up', 'up\\x']) {
      expect(await where(`docs\\${name}`), name).toBe('CapabilityDenied')
    }
  })

  it('parses the path of an open folder by the same rules', async () => {
    const { isAt, where } = policyOf(world)
    await where('docs')
    const real = 'C:/Users/me/ws/Docs'
    for (const spelling of ['C:\\Users\\me\\ws\\Docs', '\\\\?\\c:\\users\\me\\ws\\DOCS']) expect(
      isAt(spelling, real), spelling,
    ).toBe(true)
    for (const spelling of ['\\\\.\\C:\\Users\\me\\ws\\Docs', 'C:Docs', 'C:\\Users\\me\\ws', '']) expect(
      isAt(spelling, real), spelling,
    ).toBe(false)
  })

  it('is equally strict for a workspace on a share or with an invalid path', async () => {
    const share = policyOf({ ...world, workspace: '\\\\server\\share\\ws' })
    expect(await share.where('docs\\read.me')).toBe('//server/share/ws/Docs/Read.Me')
    expect(await share.where('C:\\Users\\me\\ws\\docs\\read.me')).toBe('CapabilityDenied')
    const device = policyOf({ ...world, workspace: '\\\\.\\C:\\ws' })
    expect(await device.where('docs\\read.me')).toBe('CapabilityDenied')
  })
})

describe('disk access', () => {
  it('stays inside the grant and the folders above it', async () => {
    const { where, disk } = policyOf({
      platform: 'linux', workspace: '/home/ws', folding: SENSITIVE, patterns: ['docs/**', 'src/*.ts'],
      tree: {
        docs: { out: { link: '/etc/shadow' }, up: { link: '../private/x' }, back: { link: '../src/a.ts' } },
        private: { x: '' }, src: { 'a.ts': '' },
      },
    })
    expect(await where('docs/out')).toBe('CapabilityDenied')
    expect(await where('docs/up')).toBe('CapabilityDenied')
    expect(await where('private/x')).toBe('CapabilityDenied')
    expect(await where('docs/back')).toBe('/home/ws/src/a.ts')
    expect(await where('src', 'leads')).toBe('/home/ws/src')
    expect(await where('.', 'leads')).toBe('/home/ws')
    expect(await where('..', 'leads')).toBe('CapabilityDenied')
    expect(disk.touched.filter((path) => /shadow|private|^\/etc/.test(path))).toEqual([])
  })

  it('does not happen for an invalid path', async () => {
    const { where, disk } = policyOf(
      { platform: 'linux', workspace: '/ws', folding: SENSITIVE, tree: {}, patterns: ['**'] },
    )
    for (const given of ['', 'a\0b', 'x'.repeat(4_097), '\ud800', 'a\udc00']) {
      expect(await where(given), given).toBe('InputInvalid')
    }
    expect(disk.touched).toEqual([])
  })

  it('works in other roots if one root cannot be read', async () => {
    const paths = pathsOf('linux')
    const disk = new FoldingDisk('/good', { 'a.txt': '' }, SENSITIVE)
    const unlessBad = <T>(path: string, ask: (path: string) => Promise<T>): Promise<T> =>
      (path.startsWith('/bad') ? Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' })) : ask(path))
    const failing: Disk = {
      lstat: (path) => unlessBad(path, (good) => disk.lstat(good)),
      readlink: (path) => disk.readlink(path),
      readdir: (path) => disk.readdir(path),
      realpath: (path) => unlessBad(path, (good) => disk.realpath(good)),
    }
    const policy = new PathPolicy({
      power: 'fs.write', platform: 'linux', paths, disk: failing, workspace: '/good', roots: ['/good', '/bad'],
      reserved: [], readOnly: [],
      patterns: ['/good/**', '/bad/**'],
    })
    expect((await policy.locate('a.txt', 'covers')).real).toBe('/good/a.txt')
    expect(await codeOf(policy.locate('/bad/x', 'covers'))).toBe('ToolExecutionFailed')
  })
})
