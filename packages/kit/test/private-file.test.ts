import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ExposedFileError, readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'private-file-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('is replaced as a whole, and only its owner can read it', () => {
  const file = join(folder, 'secret')
  expect(readPrivateFile(file)).toBeUndefined()
  writePrivateFile(file, 'one')
  writePrivateFile(file, 'two')
  expect([readPrivateFile(file), statSync(file).mode & 0o777, readdirSync(folder)]).toEqual(['two', 0o600, ['secret']])
  mkdirSync(join(folder, 'taken'))
  expect(() => writePrivateFile(join(folder, 'taken'), 'x')).toThrow(/EISDIR/)
  expect(readdirSync(folder)).toEqual(['secret', 'taken'])
})

it.each([0o640, 0o604, 0o620])('is not read with mode %o', (mode) => {
  const file = join(folder, 'secret')
  writePrivateFile(file, 'one')
  chmodSync(file, mode)
  expect(() => readPrivateFile(file)).toThrow(ExposedFileError)
})

it('is not read through a link', () => {
  writePrivateFile(join(folder, 'secret'), 'one')
  symlinkSync('secret', join(folder, 'link'))
  expect(() => readPrivateFile(join(folder, 'link'))).toThrow(/ELOOP/)
})
