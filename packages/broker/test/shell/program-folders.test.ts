import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UntrustedFolders } from '../../src/process/executable.ts'
import { isWholeHome, ProgramFolders } from '../../src/shell/program-folders.ts'

let home: string
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-programs-')))
  for (const name of ['node/bin/node', 'node/lib/node_modules/npm/bin/npm', '.local/bin/tool', 'apps/x/run']) {
    mkdirSync(join(home, dirname(name)), { recursive: true })
    writeFileSync(join(home, name), '', { mode: 0o755 })
  }
  symlinkSync('../lib/node_modules/npm/bin/npm', join(home, 'node/bin/npm'))
  symlinkSync('node', join(home, 'current'))
  symlinkSync(join(home, 'apps/x/run'), join(home, '.local/bin/run'))
})
afterEach(() => rmSync(home, { recursive: true }))

async function found(path: readonly string[], writable: readonly string[] = []): Promise<readonly string[]> {
  const inHome = (names: readonly string[]) => names.map((name) => join(home, name))
  const folders = await new ProgramFolders(inHome(path), home, new UntrustedFolders(inHome(writable))).list()
  return folders.map((folder) => folder.slice(home.length + 1)).toSorted()
}

it('has the folders of a PATH, those that links in them lead to, and packages of Node', async () => {
  expect(await found(['node/bin'])).toEqual([
    'node/bin', 'node/lib/node_modules', 'node/lib/node_modules/npm/bin', 'node/lib/node_modules/npm/lib/node_modules',
  ])
  expect(await found(['.local/bin', 'missing'])).toEqual(['.local/bin', '.local/lib/node_modules', 'apps/x'])
  expect(await found(['current/bin'])).toEqual(
    expect.arrayContaining(['current/bin', 'current/lib/node_modules', 'node/bin']),
  )
})

it('has no folder that tools can write, also through links', async () => {
  expect(await found(['node/bin', '.local/bin'], ['node'])).toEqual(['.local/bin', '.local/lib/node_modules', 'apps/x'])
  expect(await found(['.local/bin'], ['apps'])).toEqual(['.local/bin', '.local/lib/node_modules'])
  expect(await found(['current/bin'], ['node'])).toEqual([])
})

it('has no whole home, and nothing that links in it lead to', async () => {
  symlinkSync('.', join(home, 'self'))
  symlinkSync('apps/x/run', join(home, 'run'))
  expect(await found(['.', '.local', 'self'])).toEqual([])
})

it('has no folder of a file that is not a program', async () => {
  writeFileSync(join(home, 'apps/letter'), '')
  symlinkSync('../../apps/letter', join(home, '.local/bin/letter'))
  expect(await found(['.local/bin'])).toEqual(['.local/bin', '.local/lib/node_modules', 'apps/x'])
})

it.each([
  ['/', true], ['/home', true], ['/home/u', true], ['/home/u/.local', true], ['/root', true], ['/Users/u', true],
  ['/tmp', true], ['/proc/self', true], ['/etc/alternatives', true], ['/data', true], ['/data/u', true],
  ['/data/u/.local', true], ['/home/u/bin', false], ['/home/u/.local/bin', false], ['/opt/node/bin', false],
  ['/data/u/bin', false], ['/tmp/x/bin', false],
])('knows whether %s is more than a folder of programs: %s', (folder, isWhole) => {
  expect(isWholeHome(folder, '/data/u')).toBe(isWhole)
})
