import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProtectedPlaces, type BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { EXACT, type NameFolding } from '../../src/fs/disk.ts'
import { PathPatterns } from '../../src/fs/path-patterns.ts'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined
const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => 'not refused', (error: BulkheadError) => `${error.code}: ${error.message}`)

describe('a read-only folder', () => {
  const opened = async () => {
    const workspace = await temporaryFolder()
    const layer = join(workspace, '.bulkhead')
    return { workspace, layer, ...openFs(
      workspace, { read: ['**'], write: ['**', '.bulkhead/**', '{workspace}/.bulkhead/config.json'] },
      { readOnly: [layer] },
    ) }
  }

  it('is not created, even if a pattern names it', async () => {
    const { workspace, fs } = await opened()
    for (const path of [
      '.bulkhead', '.bulkhead/config.json', './a/../.bulkhead/tools/evil/manifest.json', join(workspace, '.bulkhead/x'),
    ]) {
      expect(await messageOf(fs.write(path, '{}'))).toMatch(/^CapabilityDenied: .*no tool writes/)
    }
    expect(exists(join(workspace, '.bulkhead'))).toBe(false)
    await fs.write('.bulkheads/a', 'x')
  })

  it('is not created under a spelling that a file system may treat as equal', async () => {
    const { workspace, fs } = await opened()
    for (const name of [
      '.BULKHEAD', '.Bulkhead', '.bul\u212ahead', '.bulkhead.', '.bulkhead ', '.bul\u200bkhead', '\u2024bulkhead',
    ]) {
      expect([name, await codeOf(fs.write(`${name}/config.json`, '{}'))]).toEqual([name, 'CapabilityDenied'])
      expect(exists(join(workspace, name))).toBe(false)
    }
  })

  it('is not written, edited or removed, by name or through a link, and stays readable', async () => {
    const { workspace, layer, fs } = await opened()
    await put(workspace, ['.bulkhead/config.json', 'mine'], 'docs/a')
    symlinkSync('../.bulkhead', join(workspace, 'docs/link'))
    symlinkSync('../.bulkhead/config.json', join(workspace, 'docs/config.json'))
    for (const path of ['.bulkhead/config.json', 'docs/link/config.json', 'docs/config.json']) {
      expect(await codeOf(fs.write(path, 'theirs'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.edit(path, 'mine', 'theirs'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.remove(path))).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs.remove('.bulkhead'))).toBe('CapabilityDenied')
    expect(readFileSync(join(layer, 'config.json'), 'utf8')).toBe('mine')
    expect(await fs.readText('.bulkhead/config.json')).toBe('mine')
  })
})

describe('a path that must be named', () => {
  const PLACES = [
    '.git/hooks/pre-commit', '.git/config', 'vendor/lib/.git/config', '.bashrc', '.profile', '.zshrc', 'sub/.envrc',
    '.vscode/tasks.json', '.vscode/settings.json', '.vscode/launch.json', '.idea/workspace.xml', 'a.code-workspace',
    '.GIT/config', '.Vscode/tasks.json', '.g\u200cit/config',
  ]

  it.each([
    '**', '{workspace}', '*', '{workspace}/*/**', '**/*', '**/.*', '{workspace}/.*/**',
  ])('is not written by %j', async (pattern) => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'], write: [pattern, '{workspace}/plain/**'] })
    for (const path of PLACES) expect([path, await codeOf(fs.write(path, 'x'))]).toEqual([path, 'CapabilityDenied'])
    expect(PLACES.filter((path) => exists(join(workspace, path)))).toEqual([])
    await fs.write('plain/.gitignore', 'x')
    await fs.write('plain/git/config', 'x')
    expect(await messageOf(fs.write('plain/.git/config', 'x'))).toMatch(/Declare a pattern .* that names it/)
  })

  it('is not written, edited or removed by **, by name or through a link, and stays readable', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['.git/config', 'mine'])
    symlinkSync('.git', join(workspace, 'link'))
    const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
    for (const path of ['.git/config', 'link/config']) {
      expect(await codeOf(fs.write(path, 'x'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.edit(path, 'mine', 'x'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.remove(path))).toBe('CapabilityDenied')
      expect(await fs.readText(path)).toBe('mine')
    }
  })

  it.each<[pattern: string, written: readonly string[], refused: readonly string[]]>([
    ['.git/**', ['.git/config', '.git/a/.bashrc'], ['sub/.git/config', '.bashrc']],
    ['{workspace}/.git', ['.git/config'], ['.vscode/tasks.json']],
    ['**/.envrc', ['.envrc', 'a/b/.envrc'], ['.git/.envrc', '.bashrc']],
    ['*/.vscode/*.json', ['a/.vscode/tasks.json'], ['.vscode/tasks.json', 'a/.vscode/x.txt', '.git/.vscode/a.json']],
    ['.git/hooks/**', ['.git/hooks/pre-commit'], ['.git/config']],
  ])('is written by %j only where the pattern names it', async (pattern, written, refused) => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { write: [pattern] })
    for (const path of [...written, ...refused]) mkdirSync(join(workspace, path, '..'), { recursive: true })
    for (const path of written) expect([path, await codeOf(fs.write(path, 'x'))])
      .toEqual([path, expect.stringMatching(/^not refused/)])
    for (const path of refused) expect([path, await codeOf(fs.write(path, 'x'))]).toEqual([path, 'CapabilityDenied'])
  })

  it('may be written in a workspace that is inside such a folder', async () => {
    const workspace = join(await temporaryFolder(), '.vscode', 'ws')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'a'), '')
    const { fs } = openFs(workspace, { write: ['**'] })
    await fs.write('a', 'x')
    expect(await codeOf(fs.write('.vscode/a', 'x'))).toBe('CapabilityDenied')
  })

  it.each<NameFolding>([
    EXACT, { case: true, normal: true },
  ])('is named as the file system folds names: %j', (folding) => {
    const bounds = { special: [], protectedPlaces: new ProtectedPlaces(['/ws/.bulkhead']) }
    const patterns = new PathPatterns(
      [{ root: '/ws', rest: '.Git/**', folding }, { root: '/ws', rest: '**', folding }], bounds,
    )
    expect(patterns.match('/ws/.Git/config').covers).toBe(true)
    expect(patterns.match('/ws/.git/config').covers).toBe(folding.case)
    expect(patterns.match('/ws/.BULKHEAD/x').covers).toBe(false)
  })
})
