import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { visibleText } from '@bulkhead/kit/text'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Approval } from '../../src/index.ts'
import { shareVerified } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { KEYS, SharedTerminal } from './pseudo-terminal.ts'
import { joined } from '../joined.ts'

let folder: string
let terminal: SharedTerminal
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-prompt-')))
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
  shareVerified(join(folder, 'home/.bulkhead'))
  writeFileSync(join(folder, 'home/.bulkhead/config.json'), JSON.stringify({ approvals: { project: true } }))
  terminal = new SharedTerminal(folder)
})
afterAll(async () => {
  await terminal[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const writing = (path: string, content = 'x') => ['write', '--args', JSON.stringify({ path, content })]
const write = (content: string) => terminal.run(['call', ...writing('notes/a.txt', content)])

const HOSTILE = [
  '\u001b[2J\u001b[1;1H', 'Allow `write` to write a file?', '\u001b[31m', '\u009b2J', '\u001b]0;title\u0007', '\u001bc',
  '\u001b[?1049h', '\r', '\b\b\b\b', '\u202etxt.exe\u202c', '\u2066hidden\u2069', '\u200b', '\ufeff', '\u{e0041}',
  '\u001b[5A\u001b[0J',
].join('ok')

/** Plain letters of the same width. */
const harmlessTwin = (text: string): string =>
  visibleText(JSON.stringify(text).slice(1, -1)).replaceAll(/[^A-Za-z0-9 ]/g, 'x')

/** Everything in the output that is not a printable character. */
const controls = (bytes: string): readonly string[] => bytes.match(/\p{Cc}(?:\[[0-?]*[ -/]*[@-~])?|\p{Cf}/gu) ?? []

it('shows tool, file and content, and rejects on Enter alone', async () => {
  await write('hello')
  await terminal.see('Run it?')
  const text = terminal.rows.join('\n')
  expect(text).toContain(`
Allow \`write\` to write ${folder}/notes/a.txt?
  from:      bundled extension write 1.0.0
  may:       write ${folder}
  because:   this tool requires approval
  key:       notes/a.txt
  diff:
  | --- /dev/null
  | +++ b/notes/a.txt
  | @@ -0,0 +1 @@
  | +hello
  | \\ No newline at end of file
  arguments:
`)
  terminal.press(KEYS.enter)
  expect(await terminal.ended()).toBe(1)
  expect(terminal.rows.join('\n')).toContain('ApprovalDenied')
  expect(existsSync(join(folder, 'notes'))).toBe(false)
})

it('no argument can move the cursor, change the screen or imitate the prompt', async () => {
  const bytes: string[] = []
  for (const content of [HOSTILE, harmlessTwin(HOSTILE)]) {
    await write(content)
    await terminal.see('Run it?')
    const rows = terminal.rows.filter((row) => row !== '')
    expect(rows[0]).toBe(`Allow \`write\` to write ${folder}/notes/a.txt?`)
    expect(rows.filter((row) => row.startsWith('Allow '))).toHaveLength(1)
    expect(rows[1]).toBe('  from:      bundled extension write 1.0.0')
    terminal.press(KEYS.enter)
    await terminal.ended()
    bytes.push(terminal.bytes)
  }
  // The control sequences are the same, whatever the argument contains.
  expect(controls(bytes[0]!)).toEqual(controls(bytes[1]!))
  expect(controls(bytes[0]!).length).toBeGreaterThan(10)
})

it('the reason of a rejection reaches the model', async () => {
  await write('hello')
  await terminal.see('Run it?')
  terminal.press(KEYS.down, KEYS.enter)
  await terminal.see('Why not?')
  terminal.press(...'use docs instead', KEYS.enter)
  expect(await terminal.ended()).toBe(1)
  expect(terminal.rows.join('\n')).toContain('The call of "write" was refused: use docs instead.')
})

it('shows how much does not fit on the screen, and everything on request', async () => {
  await write(Array.from({ length: 400 }, (_, index) => `line ${index} of it`).join('\n'))
  await terminal.see('Run it?')
  const before = terminal.rows.join('\n')
  expect(before).toMatch(/… \d+ rows with about \d+ characters are hidden here …/)
  expect(before).not.toContain('line 200 of it')
  terminal.press(KEYS.down, KEYS.down, KEYS.enter)
  await terminal.see('line 200 of it')
  // Keys pressed between two questions answer neither.
  await terminal.see('Run it?', 2)
  terminal.press(KEYS.enter)
  expect(await terminal.ended()).toBe(1)
  expect(terminal.rows.join('').replaceAll(/ {2}[|:] /g, '')).toContain('line 399 of it')
})

it('a project approval given at the terminal applies to later runs, counts uses and can be revoked', async () => {
  await write('x')
  await terminal.see('Run it?')
  for (const words of ['this file (notes/a.txt)', 'this folder (notes', 'the whole workspace (']) {
    expect(terminal.rows.join('\n')).toContain(`Yes, and allow ${words}`)
  }
  // Past the whole workspace, to the folder.
  terminal.press(KEYS.up, KEYS.up, KEYS.enter)
  expect(await terminal.ended()).toBe(0)
  expect(existsSync(join(folder, 'notes/a.txt'))).toBe(true)
  // No user is needed now.
  expect((await inside(['call', ...writing('notes/deep/b.txt')], folder)).code).toBe(0)
  const { stdout: listed } = await inside(['approvals', 'list', '--json'], folder)
  const [approval, ...more] = JSON.parse(listed) as Approval[]
  expect(more).toEqual([])
  expect(approval).toMatchObject({
    scope: 'project', status: 'standing', tool: 'write', approvalKey: 'notes/', covers: 'this folder (notes)',
    workspace: folder, uses: 1,
    grantedBy: expect.stringMatching(/ at the terminal$/),
  })
  const explained = await inside(['explain', ...writing('notes/a.txt')], folder)
  expect(explained.stdout).toMatch(/^write would be allowed/)
  expect(explained.stdout).toMatch(joined(
    /approval +allow +approval +project approval [0-9a-f]{12} of the key "notes\/", which answers the mode, /,
    /given \d+ \w+ ago by .* at the terminal, expires in 30 days, used 1 time\n/,
  ))

  const revoked = await inside(['approvals', 'revoke', approval!.id.slice(0, 6)], folder)
  expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining(approval!.id) })
  expect((await inside(['call', ...writing('notes/a.txt')], folder)).stderr).toContain('ApprovalDenied')
  const asks = await inside(['explain', ...writing('notes/a.txt')], folder)
  expect(asks.stdout).toMatch(joined(
    /approval +pass +approval +the project approval [0-9a-f]{12} of the key "notes\/" was revoked \d+ \w+ ago by /,
    /.* with bulkhead approvals, after 1 use\n/,
  ))
  const { stdout: audit } = await inside(['audit', 'tail', '--count', '100'], folder)
  expect(audit).toMatch(/ApprovalGranted +write notes\/ by .* at the terminal/)
  expect(audit).toMatch(/ApprovalRevoked +write notes\/ by /)
  expect((await inside(['audit', 'verify'], folder)).code).toBe(0)
})
