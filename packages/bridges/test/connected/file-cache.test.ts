import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FileCache } from '../../src/connected/file-cache.ts'

const WHO = 'a'.repeat(64)

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-remembered-')) })
afterEach(() => rmSync(folder, { recursive: true }))

it('half of what a killed process wrote counts for nothing, and goes when it is written anew', () => {
  const files = new FileCache(folder)
  files.write(WHO, { said: 1 })
  writeFileSync(join(folder, `${WHO}.json.tmp`), '{ "said": ')
  expect(files.read(WHO)).toEqual({ said: 1 })
  files.write(WHO, { said: 2 })
  expect([files.read(WHO), readdirSync(folder)]).toEqual([{ said: 2 }, [`${WHO}.json`]])
})

it('without a folder nothing is remembered', () => {
  const files = new FileCache(undefined)
  files.write(WHO, { said: 1 })
  expect(files.read(WHO)).toBeUndefined()
})
