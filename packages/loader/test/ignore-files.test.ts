import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { IgnoreFiles } from '../src/config/ignore-files.ts'

function workspace(ignore?: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ignore-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  if (ignore !== undefined) writeFileSync(join(folder, '.bulkheadignore'), ignore)
  return folder
}

it('excludes nothing without a file', () => {
  expect(new IgnoreFiles().of([workspace()])).toBeUndefined()
})

it('names the line that excludes a path, for reading and writing', () => {
  const root = workspace('*.pem\nkeys/\n!public.pem\n')
  const ignored = new IgnoreFiles().of([root])!
  for (const capability of ['fs.read', 'fs.write'] as const) {
    expect(ignored.lineFor(capability, join(root, 'a/b.pem'))).toBe(`the line "*.pem" of ${root}/.bulkheadignore`)
    expect(ignored.lineFor(capability, join(root, 'keys/k'))).toBe(`the line "keys/" of ${root}/.bulkheadignore`)
    expect(ignored.lineFor(capability, join(root, 'public.pem'))).toBeUndefined()
    expect(ignored.lineFor(capability, `${root}-other/b.pem`)).toBeUndefined()
    expect(ignored.lineFor(capability, root)).toBeUndefined()
  }
})

it('applies a pattern of folders to folders only', () => {
  const root = workspace('keys/\n')
  writeFileSync(join(root, 'keys'), '')
  const files = new IgnoreFiles()
  expect(files.of([root])!.lineFor('fs.read', join(root, 'keys'))).toBeUndefined()
  rmSync(join(root, 'keys'))
  mkdirSync(join(root, 'keys'))
  expect(files.of([root])!.lineFor('fs.read', join(root, 'keys'))).toContain('"keys/"')
})

it('can be read, and is written by no tool', () => {
  const root = workspace('x\n')
  const ignored = new IgnoreFiles().of([root])!
  expect(ignored.lineFor('fs.read', join(root, '.bulkheadignore'))).toBeUndefined()
  expect(ignored.lineFor('fs.write', join(root, '.bulkheadignore'))).toContain('only a person changes')
})

it('is one object until a file changes, appears or is removed', () => {
  const [one, other] = [workspace('a\n'), workspace()]
  const files = new IgnoreFiles()
  const before = files.of([one, other])!
  expect(files.of([one, other])).toBe(before)
  writeFileSync(join(other, '.bulkheadignore'), 'b\n')
  const after = files.of([one, other])!
  expect(after.lineFor('fs.read', join(other, 'b'))).toBeDefined()
  writeFileSync(join(one, '.bulkheadignore'), 'other\n')
  expect(files.of([one, other])!.lineFor('fs.read', join(one, 'a'))).toBeUndefined()
  rmSync(join(one, '.bulkheadignore'))
  rmSync(join(other, '.bulkheadignore'))
  expect(files.of([one, other])).toBeUndefined()
})

it.each([
  ['a folder', (path: string) => { mkdirSync(path) }, 'no regular file'],
  ['a link', (path: string) => { symlinkSync('/dev/null', path) }, 'ELOOP'],
  ['a link that leads nowhere', (path: string) => { symlinkSync('missing', path) }, 'ELOOP'],
  ['a line that git would not match', (path: string) => { writeFileSync(path, 'a\n[b\n') }, 'Line 2'],
  ['a file that is too long', (path: string) => { writeFileSync(path, 'a\n'.repeat(200_000)) }, 'bytes'],
])('excludes everything if it is %s, and says why', (_, make, why) => {
  const root = workspace()
  make(join(root, '.bulkheadignore'))
  const ignored = new IgnoreFiles().of([root])!
  expect(ignored.files).toEqual([
    { path: join(root, '.bulkheadignore'), fault: expect.stringContaining(why) as string },
  ])
  expect(ignored.lineFor('fs.read', join(root, 'any'))).toContain(why)
  expect(ignored.lineFor('fs.read', root)).toContain(why)
})
