import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { foldersBetween, isAbsent, makeFolder, pathsAt, scanningOnce } from '../src/folders.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'make-folder-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

it('creates missing folders and keeps existing ones', () => {
  makeFolder(join(root, 'a/b/c'), 0o700)
  expect(statSync(join(root, 'a/b')).mode & 0o777).toBe(0o700)
  writeFileSync(join(root, 'a/b/c/file'), 'kept')
  makeFolder(join(root, 'a/b/c'))
  makeFolder(join(root, 'a/b/d'))
  expect([existsSync(join(root, 'a/b/c/file')), existsSync(join(root, 'a/b/d'))]).toEqual([true, true])
})

it('throws the error of the system if a folder cannot be created', () => {
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  expect(() => makeFolder(join(root, 'file'))).toThrow(/EEXIST/)
  expect(() => makeFolder(join(root, 'file/below'))).toThrow(/ENOTDIR/)
  expect(() => makeFolder(join(root, 'link/below'))).toThrow(/E(?:NOENT|EXIST)/)
})

it('finds the files that begin with a name, and the folders above them', () => {
  makeFolder(join(root, 'a/b'))
  for (const name of ['x.db', 'x.db-wal', 'x.db-notes-1', 'x.dbs', 'y']) writeFileSync(join(root, 'a/b', name), '')
  const place = join(root, 'a/b/x.db')
  expect(pathsAt(place)).toEqual([place])
  expect(pathsAt(`${place}-`).toSorted()).toEqual([`${place}-notes-1`, `${place}-wal`])
  expect(pathsAt(join(root, 'missing/x-'))).toEqual([])
  expect(foldersBetween(root, place)).toEqual([join(root, 'a'), join(root, 'a/b')])
  expect([foldersBetween(join(root, 'a/b'), place), foldersBetween('/', '/a')]).toEqual([[], []])
})

it('ends if the system returns ENOENT in an existing folder, as in /proc', needs('Linux'), () => {
  expect(() => makeFolder('/proc/bulkhead-x/y')).toThrow(/ENOENT/)
})

it('calls a name absent only if nothing has it', () => {
  writeFileSync(join(root, 'file'), '')
  symlinkSync('nowhere', join(root, 'link'))
  symlinkSync('loop', join(root, 'loop'))
  for (const name of ['nowhere', 'nowhere/below/it']) expect(isAbsent(join(root, name)), name).toBe(true)
  for (const name of ['file', 'file/below', 'link', 'link/below/it', 'loop', 'loop/below', '.']) {
    expect(isAbsent(join(root, name)), name).toBe(false)
  }
})

it('scans a folder again only if it may have changed', () => {
  const scanned: string[] = []
  const names = scanningOnce((folder) => {
    scanned.push(folder)
    return readdirSync(folder)
  })
  expect(names('/usr')).toEqual(names('/usr'))
  expect(scanned).toEqual(['/usr'])
  expect(names(root)).toEqual([])
  writeFileSync(join(root, 'file'), '')
  expect([names(root), names(join(root, 'file')), names(join(root, 'missing'))]).toEqual([
    ['file'], undefined, undefined,
  ])
})
