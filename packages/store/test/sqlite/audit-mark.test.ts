import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { AuditMark, markFile, readMark } from '../../src/records/audit-chain.ts'
import { StoreFolder } from './store-folder.ts'

const link = (digit: string): string => digit.repeat(64)

it('the last mark is read, also if it is shorter than the one before', async () => {
  await using folder = new StoreFolder()
  const mark = new AuditMark(folder.file)
  expect(readMark(folder.file)).toBeUndefined()
  mark.note({ position: Number.MAX_SAFE_INTEGER, link: link('a') })
  expect(readMark(folder.file)).toEqual({ position: Number.MAX_SAFE_INTEGER, link: link('a') })
  mark.note({ position: 7, link: link('b') })
  mark.close()
  new AuditMark(folder.file).close()
  expect(readMark(folder.file)).toEqual({ position: 7, link: link('b') })
})

it.each([
  '', '7', `7 ${link('b')}`, `0 ${link('b')}\n`, `7 ${link('g')}\n`, '\0'.repeat(82),
])('a mark of %j is ignored', async (text) => {
  await using folder = new StoreFolder()
  writeFileSync(markFile(folder.file), text)
  expect(readMark(folder.file)).toBeUndefined()
})

it('a mark ignores write failures and does not follow links', async () => {
  await using folder = new StoreFolder()
  const target = `${folder.file}-precious`
  writeFileSync(target, 'x')
  symlinkSync(target, markFile(folder.file))
  new AuditMark(folder.file).note({ position: 1, link: link('c') })
  expect(readMark(folder.file)).toBeUndefined()
  mkdirSync(markFile(target))
  expect(readMark(target)).toBeUndefined()
})
