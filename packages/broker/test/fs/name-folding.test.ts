import * as fc from 'fast-check'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anyCodePoint } from '../../../kit/test/samples/text.ts'
import { systemDisk, EXACT, foldNames, probeFolding } from '../../src/fs/disk.ts'
import { POSIX_PATHS } from '../../src/fs/paths.ts'
import { temporaryFolder } from '../fixture.ts'
import { FoldingDisk } from './folding-disk.ts'

describe('folding', () => {
  it('gives equal names one spelling, and leaves others unchanged', () => {
    const both = { case: true, normal: true }
    expect(foldNames('/Users/\u00c4rger/X', both)).toBe('/users/\u00e4rger/x')
    expect(foldNames('A\u0308', both)).toBe('\u00e4')
    expect(foldNames('\u00c4', { case: true, normal: false })).toBe('\u00e4')
    expect(foldNames('A\u0308', { case: true, normal: false })).toBe('a\u0308')
    expect(foldNames('\u03a3\u03c3\u03c2', { case: true, normal: false })).toBe('\u03c3\u03c3\u03c2')
    for (const odd of ['\u212a', '\u017f', '\u0130', '\u0131', '\u00df', '\u1e9e', '\ufb01', '\u01c5']) {
      expect(foldNames(odd, { case: true, normal: false }), odd).toBe(odd)
    }
    expect(foldNames('Äb', EXACT)).toBe('Äb')
  })

  it('never merges names that differ in more than case', () => {
    fc.assert(fc.property(fc.string({ unit: anyCodePoint }), fc.string({ unit: anyCodePoint }), (one, other) => {
      const same = (text: string) => foldNames(text, { case: true, normal: false })
      if (same(one) === same(other)) expect(one.toUpperCase()).toBe(other.toUpperCase())
      expect(same(same(one))).toBe(same(one))
    }))
  })
})

describe('probing a file system', () => {
  const probe = (disk: FoldingDisk, platform: NodeJS.Platform = 'linux') =>
    probeFolding('/Top/ws', disk, POSIX_PATHS, platform)

  it.each([
    [true, 'in it', { 'Name.txt': '' }], [true, 'of itself', {}], [false, 'in it', { 'Name.txt': '' }],
    [false, 'of itself', { '1': '' }],
  ] as const)('detects whether case folds (%s) by a name %s', async (folds, _, tree) => {
    const folding = { case: folds, normal: false }
    expect(await probe(new FoldingDisk('/Top/ws', tree, folding))).toEqual(folding)
  })

  it('fails while the names of a folder cannot be read', async () => {
    class CrowdedDisk extends FoldingDisk {
      override async readdir(): Promise<never> {
        throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
      }
    }
    await expect(probe(new CrowdedDisk('/Top/ws', { 'Name.txt': '' }, EXACT))).rejects.toMatchObject({ code: 'EMFILE' })
  })

  it('is not misled by two files whose names differ in case', async () => {
    expect(await probe(new FoldingDisk('/Top/ws', { name: '', NAME: '' }, EXACT))).toBe(EXACT)
  })

  it('assumes that macOS normalizes names', async () => {
    expect(await probe(new FoldingDisk('/Top/ws', {}, EXACT), 'darwin')).toEqual({ case: false, normal: true })
  })

  it('detects no folding without a letter in any name', async () => {
    expect(await probeFolding('/', new FoldingDisk('/1', {}, { case: true, normal: true }), POSIX_PATHS, 'linux'))
      .toBe(EXACT)
  })

  it('writes nothing', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'empty'))
    await writeFile(join(folder, 'File'), '')
    const disk = systemDisk(POSIX_PATHS)
    const folds = await probeFolding(folder, disk, POSIX_PATHS, 'linux')
    expect(folds.case).toBe(await disk.lstat(join(folder, 'fILE')) !== undefined)
    expect(await probeFolding(join(folder, 'empty'), disk, POSIX_PATHS, 'linux')).toEqual(folds)
    expect((await disk.readdir(folder)).toSorted()).toEqual(['File', 'empty'])
  })
})
