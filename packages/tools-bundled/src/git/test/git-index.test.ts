// @module-tag git
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readIndex } from '../../model/git-index.ts'
import { gitIn, repositoryIn, writeIn } from './repository.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-git-index-')))
afterAll(() => rmSync(root, { recursive: true }))
const folder = repositoryIn(join(root, 'r'), {
  'a.txt': '', 'dir/aaaa': '', 'dir/aaab': '', 'dir/deep/.gitignore': '', 'x..y': '', 'é': '',
})
const unsafeIndexEntry = (bytes: Buffer, hashBytes: number) => readIndex(bytes, hashBytes).unsafe
const index = (): Buffer => readFileSync(join(folder, '.git/index'))
const renamed = (from: string, to: string): Buffer => {
  const bytes = index()
  bytes.write(to, bytes.indexOf(from))
  return bytes
}

it('accepts what git writes, in every version', () => {
  expect(unsafeIndexEntry(index(), 20)).toBeUndefined()
  gitIn(folder, 'update-index', '--index-version', '4')
  expect([index().readUInt32BE(4), unsafeIndexEntry(index(), 20)]).toEqual([4, undefined])
  writeIn(folder, 'later', '')
  gitIn(folder, 'update-index', '--index-version', '2')
  gitIn(folder, 'add', '--intent-to-add', 'later')
  expect([index().readUInt32BE(4), unsafeIndexEntry(index(), 20)]).toEqual([3, undefined])
})

it('finds a path that leaves the tree', () => {
  expect(unsafeIndexEntry(renamed('a.txt', '../xt'), 20)).toBe('the path "../xt"')
  expect(unsafeIndexEntry(renamed('a.txt', '/.txt'), 20)).toBe('the path "/.txt"')
  expect(unsafeIndexEntry(renamed('dir/aaab', '.Git/aab'), 20)).toBe('the path ".Git/aab"')
  expect(unsafeIndexEntry(renamed('dir/aaab', 'dir/../b'), 20)).toBe('the path "dir/../b"')
})

it('finds one in a compressed index', () => {
  gitIn(folder, 'update-index', '--index-version', '4')
  expect(unsafeIndexEntry(renamed('dir/aaaa', '../aaaaa'), 20)).toBe('the path "../aaaaa"')
  gitIn(folder, 'update-index', '--index-version', '2')
})

it('rejects what it cannot read', () => {
  const bytes = index()
  expect(unsafeIndexEntry(bytes.subarray(0, 40), 20)).toBe('an unknown form')
  for (let length = 0; length < bytes.length - 40; length += 7)
    expect(unsafeIndexEntry(bytes.subarray(0, length), 20)).toBeDefined()
  bytes.writeUInt32BE(5, 4)
  expect(unsafeIndexEntry(bytes, 20)).toBe('an unknown form')
  gitIn(folder, 'update-index', '--split-index')
  expect(unsafeIndexEntry(index(), 20)).toBeDefined()
})
