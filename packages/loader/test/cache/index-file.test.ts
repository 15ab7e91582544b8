import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readIndexFile, writeIndexFile } from '../../src/cache/package-index.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-index-')) })
afterEach(() => rmSync(folder, { recursive: true }))

test('ignores and replaces the draft of a killed process, and ignores a file that others can write', () => {
  const file = join(folder, 'x.index')
  const content = { rows: [1], stamps: new Float64Array([2]), texts: Buffer.from('three') }
  writeFileSync(`${file}.tmp`, 'bulkhead-index', { mode: 0o666 })
  expect(readIndexFile(file, 'key')).toBeUndefined()
  writeIndexFile(file, 'key', content)
  expect(readIndexFile(file, 'key')).toEqual(content)
  expect([readdirSync(folder), statSync(file).mode & 0o777]).toEqual([['x.index'], 0o600])
  chmodSync(file, 0o620)
  expect(readIndexFile(file, 'key')).toBeUndefined()
})
