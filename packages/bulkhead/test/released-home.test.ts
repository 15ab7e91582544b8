// A home that version 1.0.0 wrote: two calls of `write` in /tmp/project.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { inside } from './command-inside.ts'

const RECORDED = join(import.meta.dirname, 'fixtures/released-home')
const FILES = ['bulkhead.db', 'bulkhead.db-undo']

let folder: string
const home = () => join(folder, 'home/.bulkhead')
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-released-')))
  mkdirSync(home(), { recursive: true, mode: 0o700 })
  for (const file of FILES) {
    writeFileSync(join(home(), file), gunzipSync(readFileSync(join(RECORDED, `${file}.gz`))), { mode: 0o600 })
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (args: readonly string[], env = {}) => inside(args, folder, env)
const json = async (args: readonly string[], env = {}) =>
  JSON.parse((await run([...args, '--json'], env)).stdout) as Record<string, unknown>

it('a home of the released version opens, with its audit, and goes on', async () => {
  const before = await json(['audit', 'verify'])
  expect(before).toMatchObject({ ok: true, first: 1, last: 24 })
  expect(await run(['call', 'glob', '--args', '{"pattern":"*"}'])).toMatchObject({ code: 0 })
  expect(await json(['audit', 'verify'])).toMatchObject({ ok: true, first: 1 })
  expect((await run(['audit', 'tail', '--tool', 'write'])).stdout).toMatch(/write/)
})

it('a home of the released version moves to PostgreSQL and back', needs('PostgreSQL'), async () => {
  const url = (await sharedPostgres()).url(newSchema())
  const file = join(home(), FILES[0]!)
  expect(await json(['store', 'copy', file, url])).toMatchObject({ changes: 2, audit: 24 })
  expect(await json(['audit', 'verify'], { BULKHEAD_STORE: url })).toEqual(await json(['audit', 'verify']))
  const back = join(folder, 'back.db')
  expect(await json(['store', 'copy', url, back])).toMatchObject({ changes: 2, audit: 24 })
})
