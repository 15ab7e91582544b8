import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FileCache } from '../../src/connected/file-cache.ts'

const IDENTITY = 'a'.repeat(64)

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-cache-')) })
afterEach(() => rmSync(folder, { recursive: true }))

it('ignores the temporary file of a killed process, and overwrites it with the next write', () => {
  const files = new FileCache(folder)
  files.write(IDENTITY, { value: 1 })
  writeFileSync(join(folder, `${IDENTITY}.json.tmp`), '{ "value": ')
  expect(files.read(IDENTITY)).toEqual({ value: 1 })
  files.write(IDENTITY, { value: 2 })
  expect([files.read(IDENTITY), readdirSync(folder)]).toEqual([{ value: 2 }, [`${IDENTITY}.json`]])
})

it('caches nothing without a folder', () => {
  const files = new FileCache(undefined)
  files.write(IDENTITY, { value: 1 })
  expect(files.read(IDENTITY)).toBeUndefined()
})

it('neither reads nor writes a file of more than 4 MB', () => {
  const files = new FileCache(folder)
  const large = { text: 'x'.repeat(4 * 1024 * 1024) }
  files.write(IDENTITY, large)
  expect(readdirSync(folder)).toEqual([])
  writeFileSync(join(folder, `${IDENTITY}.json`), JSON.stringify(large))
  expect(files.read(IDENTITY)).toBeUndefined()
})
