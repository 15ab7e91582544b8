import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeFolder } from '../src/make-folder.ts'

const disk = { mkdirSync, statSync, dirname }
let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'make-folder-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

it('makes what is missing, and leaves what is there', () => {
  makeFolder(join(root, 'a/b/c'), disk, 0o700)
  expect(statSync(join(root, 'a/b')).mode & 0o777).toBe(0o700)
  writeFileSync(join(root, 'a/b/c/file'), 'kept')
  makeFolder(join(root, 'a/b/c'), disk)
  makeFolder(join(root, 'a/b/d'), disk)
  expect([existsSync(join(root, 'a/b/c/file')), existsSync(join(root, 'a/b/d'))]).toEqual([true, true])
})

it('says what the system says where a folder cannot be made', () => {
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  expect(() => makeFolder(join(root, 'file'), disk)).toThrow(/EEXIST/)
  expect(() => makeFolder(join(root, 'file/below'), disk)).toThrow(/ENOTDIR/)
  expect(() => makeFolder(join(root, 'link/below'), disk)).toThrow(/E(?:NOENT|EXIST)/)
})

it('gives up where a system says of a new folder that it is not there, as /proc does', () => {
  const asked: string[] = []
  const proc = {
    mkdirSync: (path: string): never => {
      asked.push(path)
      throw Object.assign(new Error(`ENOENT: mkdir '${path}'`), { code: 'ENOENT' })
    },
    statSync: (path: string) => path === '/proc' ? { isDirectory: () => true } : undefined,
    dirname,
  }
  expect(() => makeFolder('/proc/x/y', proc)).toThrow("ENOENT: mkdir '/proc/x'")
  expect(asked).toEqual(['/proc/x/y', '/proc/x'])
})

it('gives up at the root of a disk that has none', () => {
  const none = { mkdirSync: (): never => { throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' }) }, statSync: () => undefined, dirname }
  expect(() => makeFolder('/a/b', none)).toThrow('ENOENT')
})
