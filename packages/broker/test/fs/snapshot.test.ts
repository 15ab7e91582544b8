import {
  chmodSync, fstatSync, linkSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync,
  utimesSync, writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import type { FileReplacement, Power } from '@bulkhead/contract'
import { Copies } from '../../src/fs/snapshot/copies.ts'
import { withSameFile } from '../../src/fs/snapshot/same-file.ts'
import { Snapshot, whyUnrecorded } from '../../src/fs/snapshot/snapshot.ts'
import { recoverUpdates } from '../../src/fs/update-journal.ts'
import { temporaryFolder } from '../fixture.ts'

const { signal } = new AbortController()
const MIB = 1024 ** 2

async function setUp(...files: readonly string[]) {
  const root = await temporaryFolder()
  const [workspace, journal] = [join(root, 'workspace'), join(root, 'home', 'changes')]
  mkdirSync(workspace)
  const put = (path: string, content = path): void => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    writeFileSync(join(workspace, path), content)
  }
  for (const file of files) put(file)
  const parts = { folders: { readOnly: [join(workspace, 'store-')], layerName: '.bulkhead' }, journal }
  return {
    root, workspace, journal, put, at: (path: string) => join(workspace, path),
    take: () => Snapshot.take({ ...parts, roots: [workspace] }, signal),
    why: () => whyUnrecorded({ fs: { read: [], write: [] } } as unknown as Power, { ...parts, workspace }, signal),
    shown: (changes: readonly FileReplacement[]) => changes.map(({ path, before, after }) =>
      `${path.slice(workspace.length + 1)}: ${before.kind} ${after.kind}`).toSorted(),
  }
}

it('leaves out dependencies, repositories, folders of the host and all that was ignored at first', async () => {
  const { put, at, take, shown } = await setUp(
    'a', 'node_modules/x', '.git/config', 'build/keep', 'sub/.gitignore', 'sub/out/keep', 'sub/b', '.bulkhead/c',
    'store-wal', 'log.txt',
  )
  put('.gitignore', 'build/\n*.txt\n')
  put('sub/.gitignore', 'out\n')
  mkdirSync(at('empty'))
  const snapshot = await take()
  rmSync(at('.gitignore'))
  rmSync(at('sub/.gitignore'))
  for (const path of ['node_modules/y', '.git/index', 'build/new', 'sub/out/new', '.bulkhead/d', 'store-shm']) put(path)
  rmSync(at('build/keep'))
  for (const path of ['log.txt', 'sub/node_modules/z', 'made/deep/file', 'empty/file']) put(path, 'new')
  put('late/.gitignore', '*')
  put('late/file')
  mkdirSync(at('bare/deep'), { recursive: true })
  expect(shown(await snapshot.changes(signal))).toEqual([
    '.gitignore: file absent', 'bare/deep: absent folder', 'bare: absent folder', 'empty/file: absent file',
    'log.txt: file file', 'made/deep/file: absent file', 'made/deep: absent folder', 'made: absent folder',
    'sub/.gitignore: file absent',
  ])
  await snapshot.remove()
})

it('finds a change that leaves size and times as they were, and none where only times differ', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `f${index}`)
  const { put, at, take, shown } = await setUp('touched', 'mode', ...names)
  const snapshot = await take()
  for (const name of names) {
    const { atimeMs, mtimeMs } = lstatSync(at(name))
    put(name, name.toUpperCase())
    utimesSync(at(name), atimeMs / 1000, mtimeMs / 1000)
  }
  utimesSync(at('touched'), 1, 1)
  chmodSync(at('mode'), 0o755)
  const changes = await snapshot.changes(signal)
  expect(shown(changes)).toEqual([...names, 'mode'].map((name) => `${name}: file file`).toSorted())
  expect(Buffer.from(snapshot.content(at('f7'))!).toString()).toBe('f7')
  await snapshot.remove()
})

it('keeps its copies where only this user reads them, until it is removed or the host has ended', async () => {
  const { journal, take } = await setUp('a')
  const snapshot = await take()
  const [name] = readdirSync(journal)
  expect([journal, join(journal, name!)].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o700, 0o700])
  expect(lstatSync(join(journal, name!, 'pack')).mode & 0o777).toBe(0o600)
  const ended = join(journal, '999999999-1-left.copies')
  mkdirSync(ended)
  writeFileSync(join(ended, 'pack'), '')
  await recoverUpdates(journal)
  expect(readdirSync(journal)).toEqual([name])
  await snapshot.remove()
  expect(readdirSync(journal)).toEqual([])
})

it('reads no file that took the place of one that was found', async () => {
  const { root, at } = await setUp('folder/file')
  const found = lstatSync(at('folder/file'))
  const work = (descriptor: number): number => fstatSync(descriptor).ino
  expect(withSameFile(at('folder/file'), found, work)).toBe(found.ino)
  renameSync(at('folder'), at('moved'))
  mkdirSync(join(root, 'outside'))
  writeFileSync(join(root, 'outside', 'file'), 'secret')
  symlinkSync(join(root, 'outside'), at('folder'))
  expect(withSameFile(at('folder/file'), found, work)).toBeUndefined()
})

it('records 256 MiB of content without files over 32 MiB, and not a byte more', async () => {
  const { at, put, why, take, journal } = await setUp('a')
  // Sparse. Each is shorter than what a file system could clone.
  for (let index = 0; index < 256; index++) sparse(at(`f${index}`), MIB - 1)
  sparse(at('rest'), 255)
  sparse(at('long'), 32 * MIB + 1)
  expect(await why()).toBeUndefined()
  put('a', 'ab')
  expect(await why()).toBe('the files have more than 256 MiB')
  await expect(take()).rejects.toThrow('the files have more than 256 MiB')
  expect(readdirSync(journal)).toEqual([])
})

it('keeps no content over 32 MiB of what a command wrote', async () => {
  const { at, take } = await setUp('a')
  const snapshot = await take()
  sparse(at('long'), 32 * MIB + 1)
  expect(await snapshot.changes(signal)).toMatchObject([{ after: { kind: 'file', digest: null, size: 32 * MIB + 1 } }])
  await snapshot.remove()
})

it('copies no more than the limit of files that grow meanwhile', LONG, async () => {
  const { at, journal } = await setUp('a')
  const copies = await Copies.open(journal)
  sparse(at('a'), MIB - 1)
  const found = lstatSync(at('a'))
  const all = Array.from({ length: 257 }, () => copies.add(at('a'), found))
  expect((await Promise.allSettled(all)).map(({ status }) => status).lastIndexOf('fulfilled')).toBe(255)
  await copies.remove()
})

it('records 20,000 files, and not one more', LONG, async () => {
  const { at, why, take } = await setUp('f0')
  for (let index = 1; index < 20_000; index++) linkSync(at('f0'), at(`f${index}`))
  expect(await why()).toBeUndefined()
  symlinkSync('f1', at('one-more'))
  expect(await why()).toBe('the folders have more than 20,000 files')
  await expect(take()).rejects.toThrow('the folders have more than 20,000 files')
})

it('records 20,000 folders, and not one more', ONLY_IN_SOAK, async () => {
  const { at, why } = await setUp()
  for (let index = 0; index < 20_001; index++) mkdirSync(at(`d${index}`))
  expect(await why()).toBe('the folders have more than 20,000 folders')
})

it('does not record a folder on a file system that may hold up the process', LONG, async () => {
  const grant = { fs: { read: [], write: [] } } as unknown as Power
  expect(await whyUnrecorded(grant, { workspace: '/proc/sys', folders: {}, journal: undefined }, signal))
    .toBe('"/proc/sys" is on a network or a slow file system')
})

it('does not record folders that are too deep', LONG, async () => {
  const { at, why } = await setUp()
  mkdirSync(at('d/'.repeat(256)), { recursive: true })
  expect(await why()).toBeUndefined()
  mkdirSync(at('d/'.repeat(257)))
  expect(await why()).toMatch(/is more than 256 folders deep$/)
})

function sparse(path: string, bytes: number): void {
  writeFileSync(path, '')
  truncateSync(path, bytes)
}
