import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { countFiles } from '../src/facade/count-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-count-'))
mkdirSync(join(folder, 'deep'))
for (let index = 0; index < 30; index++) writeFileSync(join(folder, 'deep', `${index}.txt`), '')
afterAll(() => rmSync(folder, { recursive: true }))

it('counts files that count, and stops after a number of files, or of entries', async () => {
  expect(await countFiles(folder, 30, () => true)).toBe(30)
  expect(await countFiles(folder, 20, () => true)).toBe(21)
  expect(await countFiles(folder, 20, (path) => /deep$|\/1\.txt$/.test(path))).toBe(1)
  expect(await countFiles(folder, 2, (path) => path.endsWith('deep'))).toBe(3)
})
