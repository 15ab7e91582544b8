import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { BUNDLED } from './bundled.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-audit-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'home/.bulkhead/bulkhead.db')

it('calls are shown, exported and verified, and tampering is detected in the store and in the export', async () => {
  writeFileSync(join(folder, 'a.txt'), 'first\n')
  await inside(['call', 'read', '--args', '{"path":"a.txt"}'], folder)
  await inside(['call', 'read', '--args', '{"path":"none\u202e\u009b.txt"}'], folder)

  const shown = await inside(['audit', 'tail', '--count', '100'], folder)
  const records = await inside(['audit', 'tail', '--count', '100', '--all'], folder)
  expect(records.stdout).toMatch(/POSITION +AT +TYPE +SESSION +CALL +WHAT/)
  expect(records.stdout).toMatch(/ToolInvocationDecided +[0-9a-f]{8} +cli +read a\.txt allow/)
  expect(records.stdout).toMatch(/ToolInvocationFailed +[0-9a-f]{8} +cli +read NotFound/)
  const { stdout: json } = await inside(['audit', 'tail', '--count', '100', '--all', '--json'], folder)
  // Third-party text is shown exactly, with control characters escaped.
  expect(json).toContain('none\\u202e\\u009b.txt')
  expect(shown.stdout + records.stdout + json).not.toMatch(/[\u202e\u009b]/)
  const entries = JSON.parse(json) as { position: number; record: { type: string }; link: string | null }[]
  const decided = entries.find(({ record }) => record.type === 'ToolInvocationDecided')!
  // Records of one batch share a link in the store. In an export each record has its own.
  const together =
    1 + (entries.findLast(({ position, link }) => position < decided.position && link !== null)?.position ?? 0)
  expect(JSON.parse((await inside(['audit', 'show', String(decided.position)], folder)).stdout)).toEqual(decided)

  const whole = await inside(['audit', 'verify'], folder)
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact \d+ records/) })
  const anchor = /--anchor (\S+)/.exec(whole.stdout)![1]!
  const exported = join(folder, 'audit.jsonl')
  writeFileSync(exported, (await inside(['audit', 'export'], folder)).stdout)
  expect(readFileSync(exported, 'utf8')).not.toMatch(/[\u202e\u009b]/)
  expect((await inside(['audit', 'verify', exported, '--anchor', anchor], folder)).code).toBe(0)
  writeFileSync(exported, readFileSync(exported, 'utf8').replace('"allow"', '"deny"'))
  const changed = await inside(['audit', 'verify', exported, '--json'], folder)
  expect([changed.code, JSON.parse(changed.stdout)]).toEqual([
    1, { ok: false, position: decided.position, reason: expect.any(String) },
  ])

  const database = new DatabaseSync(file())
  database.prepare('DELETE FROM audit WHERE position = ?').run(together)
  database.close()
  expect(await inside(['audit', 'verify'], folder))
    .toMatchObject({ code: 1, stdout: expect.stringContaining(`broken at record ${together}:`) })
})

it('a reader that closes the pipe early is not an error', LONG, async () => {
  await inside(['call', 'read', '--args', '{"path":"a.txt"}'], folder)
  const bin = join(import.meta.dirname, '../src/bin.ts')
  const child = spawn(process.execPath, [...BUNDLED, bin, 'audit', 'export'], {
    cwd: folder,
    env: { NO_COLOR: '1', HOME: join(folder, 'home'), NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  // The reader closes the pipe before the first line.
  child.stdout.destroy()
  const [code] = await once(child, 'close')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

it('without calls there is nothing to verify, and reading creates no store', async () => {
  const { code, stderr } = await inside(['audit', 'verify'], folder)
  expect(code).toBe(1)
  expect(stderr).toContain('There is no audit at')
  expect(stderr).toContain('--home')
})

it('a file that is not an export and a tampered export fail with different errors', async () => {
  writeFileSync(join(folder, 'other.txt'), '{}\n')
  const { code, stderr } = await inside(['audit', 'verify', 'other.txt'], folder)
  expect(code).toBe(1)
  expect(stderr).toContain('line 1 is not a record of an exported audit')
})

describe('a store that cannot be opened', () => {
  const commands = [
    ['call', 'read', '--args', '{"path":"a.txt"}'], ['explain', 'read', '--args', '{"path":"a.txt"}'], ['mcp'],
  ] as const
  const faults: readonly (readonly [string, () => void])[] = [
    ['a folder', () => void mkdirSync(file(), { recursive: true })],
    ['not a database', () => {
      mkdirSync(dirname(file()), { recursive: true })
      writeFileSync(file(), 'not a database '.repeat(100))
    }],
  ]
  it.each(faults.flatMap(([what, lay]) => commands.map((command) => [command[0], what, command, lay] as const)))(
    'makes %s fail with StoreUnavailable if it is %s',
    async (_, _what, command, lay) => {
      writeFileSync(join(folder, 'a.txt'), 'first\n')
      lay()
      const { code, stdout, stderr } = await inside(command, folder)
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^StoreUnavailable .*--no-store/s)
    },
  )

  it('is not needed with --no-store', async () => {
    writeFileSync(join(folder, 'a.txt'), 'first\n')
    mkdirSync(file(), { recursive: true })
    const { code, stdout, stderr } = await inside(['call', 'read', '--args', '{"path":"a.txt"}', '--no-store'], folder)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('first')
    expect((await inside(['explain', 'read', '--no-store'], folder)).stderr).not.toContain('StoreUnavailable')
  })
})

it('--no-store leaves an existing store unchanged', LONG, async () => {
  writeFileSync(join(folder, 'a.txt'), 'first\n')
  expect((await inside(['call', 'read', '--args', '{"path":"a.txt"}', '--no-store'], folder)).code).toBe(0)
  expect(existsSync(file())).toBe(false)
})

it('a store that fails later costs only durability, and is reported once', async () => {
  writeFileSync(join(folder, 'a.txt'), 'first\n')
  const read = ['call', 'read', '--args', '{"path":"a.txt"}']
  expect((await inside(read, folder)).stderr).toBe('')
  using database = new DatabaseSync(file())
  database.exec("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
  const { code, stdout, stderr } = await inside(read, folder)
  expect({ code, stderr }).toEqual({
    code: 0, stderr: expect.stringMatching(/^Warning: some data was not stored \(audit\): .*no room.*\n$/),
  })
  expect(stdout).toContain('first')
})

it.each([
  [['audit']], [['audit', 'burn']], [['audit', 'tail', 'x']], [['audit', 'tail', '--count', '0']],
  [['audit', 'tail', '--count', '1e30']], [['audit', 'show']],
  [['audit', 'verify', '--anchor', '1:abc']],
])('rejects wrong usage: %j', async (args) => {
  expect((await inside(args, folder)).code).toBe(2)
})
