import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-archive-'))
  writeFileSync(join(folder, 'a.txt'), 'first\n')
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  await readOnce()
})
afterEach(() => rmSync(folder, { recursive: true }))

const run = (...args: readonly string[]) => inside(['audit', ...args], folder)
const readOnce = () => inside(['call', 'read', '--args', '{"path":"a.txt"}'], folder)
const archive = () => join(folder, 'old.jsonl')
const anchorIn = (text: string): string => /--anchor (\S+)/.exec(text)![1]!

it('moves old records to a verified file that continues the chain of the store', async () => {
  const before = (await run('export')).stdout.split('\n')
  const archived = await run('archive', archive(), '--keep', '0')
  expect(archived).toMatchObject({
    code: 0, stderr: '', stdout: expect.stringMatching(/^archived (\d+) records, 1 to \1; 1 are left/),
  })
  expect(readFileSync(archive(), 'utf8').split('\n')).toEqual(before)
  expect(statSync(archive()).mode & 0o777).toBe(0o600)

  const anchor = anchorIn(archived.stdout)
  expect(anchorIn((await run('verify', archive())).stdout)).toBe(anchor)
  const whole = await run('verify', '--anchor', anchor)
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining(`must end with ${anchor}\n`) })
  expect((await run('tail')).stdout).toMatch(/AuditArchived .* 1 to \d+ by \S/)
  expect(await run('show', '1')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/no record 1\. It starts at \d+: earlier records were archived/),
  })

  await readOnce()
  const second = JSON.parse((await run('archive', `${archive()}.2`, '--keep', '0', '--json')).stdout)
  expect(second).toMatchObject({ file: `${archive()}.2`, before: anchor.split(':')[1], left: 1 })
  expect((await run('verify', `${archive()}.2`, '--anchor', anchor)).code).toBe(0)
  expect((await run('verify')).code).toBe(0)
})

it('keeps recent records, and writes no file without old ones', async () => {
  expect(await run('archive', archive())).toMatchObject({ code: 0, stdout: 'No records are older than 90 days.\n' })
  expect(JSON.parse((await run('archive', archive(), '--json')).stdout)).toEqual({ file: null })
  expect(existsSync(archive())).toBe(false)
  expect((await run('verify')).stdout).not.toContain('It begins')
})

it('leaves a broken audit unchanged, and writes no file', async () => {
  using database = new DatabaseSync(join(folder, 'home/.bulkhead/bulkhead.db'))
  database.exec(`UPDATE audit SET record = replace(record, 'allow', 'deny')`)
  const { count } = database.prepare('SELECT count(*) AS count FROM audit').get() as { count: number }
  expect(await run('archive', archive(), '--keep', '0')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/broken at record \d+: .* Nothing was removed/),
  })
  expect(existsSync(archive())).toBe(false)
  expect(database.prepare('SELECT count(*) AS count FROM audit').get()).toEqual({ count })
})

it('refuses an existing file or an unwritable path, and removes nothing', async () => {
  writeFileSync(archive(), 'mine')
  expect(await run('archive', archive(), '--keep', '0')).toMatchObject({
    code: 2, stderr: expect.stringContaining('already exists'),
  })
  expect(readFileSync(archive(), 'utf8')).toBe('mine')
  const nowhere = await run('archive', join(folder, 'none/old.jsonl'), '--keep', '0')
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringMatching(/cannot be written: .*Nothing was removed/) })
  expect((await run('verify')).stdout).not.toContain('It begins')
})

it.each([
  [['archive']], [['archive', 'x', 'y']], [['archive', 'x', '--keep', 'some']], [['archive', 'x', '--keep', '-1']],
  [['archive', 'x', '--keep', '20001']], [['verify', '--keep', '1']],
])('rejects wrong usage: %j', async (args) => {
  expect((await run(...args)).code).toBe(2)
})
