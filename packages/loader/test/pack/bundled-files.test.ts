import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sha512 } from '../../src/model/digest.ts'
import { BundledFiles } from '../../src/pack/bundled-files.ts'
import { HomeFixture } from '../home-fixture.ts'

test('a file is read only after it was admitted, and listed with the digest of its bytes', () => {
  using home = new HomeFixture()
  const folder = join(home.base, 'own')
  mkdirSync(join(folder, 'src'), { recursive: true })
  const file = join(folder, 'src/words.json')
  writeFileSync(file, '["owl"]')
  const files = new BundledFiles(folder, undefined)
  expect(() => files.read(file)).toThrow(/is not a file that the code imports/)
  files.admit(file, undefined)
  expect(Buffer.from(files.read(file)).toString()).toBe('["owl"]')
  expect(files.list()).toEqual([{ path: 'src/words.json', digest: sha512(readFileSync(file)) }])
})

test('a file that became a link after it was admitted is refused, with its folder or alone', () => {
  using home = new HomeFixture()
  const [folder, outside] = [join(home.base, 'own'), join(home.base, 'outside')]
  for (const at of [join(folder, 'src'), outside]) mkdirSync(at, { recursive: true })
  const file = join(folder, 'src/words.json')
  writeFileSync(file, '[]')
  writeFileSync(join(outside, 'words.json'), '["a token"]')
  const files = new BundledFiles(folder, undefined)
  files.admit(file, undefined)
  renameSync(join(folder, 'src'), join(folder, 'before'))
  symlinkSync(outside, join(folder, 'src'))
  expect(() => files.read(file)).toThrow(/outside\/words\.json" is not a file that the code imports/)
  rmSync(join(folder, 'src'))
  renameSync(join(folder, 'before'), join(folder, 'src'))
  expect(files.read(file)).toHaveLength(2)
  rmSync(file)
  symlinkSync(join(outside, 'words.json'), file)
  expect(() => files.read(file)).toThrow(/is not a file that the code imports/)
  expect(files.list().map(({ digest }) => digest)).toEqual([sha512('[]')])
})

test('a file of the folder that cannot be read is refused: a folder, a missing one, one beyond the limit', () => {
  using home = new HomeFixture()
  const folder = join(home.base, 'own')
  mkdirSync(join(folder, 'folder.json'), { recursive: true })
  const files = new BundledFiles(folder, undefined)
  expect(() => files.admit(join(folder, 'gone.json'), join(folder, 'index.ts'))).toThrow(/gone\.json" cannot be read: /)
  files.admit(join(folder, 'folder.json'), undefined)
  expect(() => files.read(join(folder, 'folder.json'))).toThrow(/is not a regular file/)
  const large = join(folder, 'large.txt')
  writeFileSync(large, Buffer.alloc(16 * 1024 * 1024 + 1))
  files.admit(large, undefined)
  expect(() => files.read(large)).toThrow(/16777217 bytes; 16777216 are allowed/)
})
