import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { COMMANDS } from '../src/cli/main.ts'
import { readOptions } from '../src/cli/read-options.ts'
import { inside } from './command-inside.ts'
import { wordsOf } from './pages/shell-words.ts'

let folder: string
beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-help-')) })
afterAll(() => rmSync(folder, { recursive: true }))

/** Examples that need a registry, the network, time or a client, or that have their own test. */
const NOT_RUN = new RegExp(`^bulkhead (?:${[
  'mcp', 'doctor', 'install @', 'diff @', 'update', 'outdated', 'sign', 'publish', 'conformance', 'reload',
  'trust-root --refresh', 'audit archive', 'store (?:copy|tenant|pool)', 'dev', 'inspect', 'call \\.', 'undo 1',
  'waiting answer', 'worker', 'learn', 'replay', 'passkey add',
].join('|')})`)

it('every example is a valid command line', async () => {
  for (const [name, { load }] of COMMANDS) {
    const command = await load()
    expect(command.examples.length, name).toBeGreaterThan(0)
    for (const { command: line, text } of command.examples) {
      expect(text, line).toMatch(/^[^A-Z].*[^.]$/)
      const args = argumentsOf(line)
      expect(args[0], line).toBe(name)
      readOptions(name, args.slice(1), command)
    }
  }
})

const argumentsOf = (line: string): readonly string[] =>
  line.startsWith('bulkhead mcp') ? line.split(' ').slice(1) : wordsOf(line)

// `pnpm soak` runs all of them, `pnpm long` the first two of each command.
it('every example does what it says', LONG, async () => {
  writeFileSync(join(folder, 'README.md'), '# Shop\n')
  mkdirSync(join(folder, '.bulkhead'))
  writeFileSync(join(folder, '.bulkhead/config.json'), '{}')
  writeFileSync(join(folder, 'other-config.json'), '{}')
  writeFileSync(join(folder, 'policy-tests.yaml'), 'calls: [{ call: read, arguments: { path: a }, expect: allow }]\n')
  await inside(['new', 'word-count', '--template', 'tool'], folder)
  await inside(['pack', 'word-count'], folder)
  // A store, a change and an extension to work with.
  await inside(['call', 'write', '--mode', 'yolo', '--args', '{"path":"note.txt","content":"a note"}'], folder)
  await inside(['call', 'read', '--args', '{"path":"README.md"}'], folder)
  for (const [name, { load }] of COMMANDS) {
    const { examples } = await load()
    let left = thoroughly(2, Infinity)
    for (const { command: line } of examples) {
      if (NOT_RUN.test(line) || left-- <= 0) continue
      const cleaned = line === 'bulkhead new word-count' ? ['new', 'other/word-count'] : argumentsOf(line)
      const { code, stderr } = await inside(cleaned.map((word) => word === '../shop' ? '.' : word), folder)
      // Without a terminal, a call that needs approval would be denied.
      expect([name === 'explain' ? 0 : code, stderr.includes('InternalError')], `${line}\n${stderr}`).toEqual([
        0, false,
      ])
    }
  }
})

it('shows examples and the options of every command', async () => {
  const { stdout } = await inside(['tools', '--help'], folder)
  expect(stdout).toMatch(/\n\nExamples\n {2}# .*\n {2}bulkhead tools\n/)
  expect(stdout).toContain('Every command: --quiet, --no-color, --help.')
  expect((await inside(['--help'], folder)).stdout).toMatch(
    /--quiet.*--no-color[\s\S]*Exit code: 0 .*1 .*2 for wrong usage/,
  )
})

it.each([
  [
    'a value of a fixed list', ['call', 'read', '--mode', 'allow'],
    /^--mode must be one of ask, allowlist, learn, yolo, not "allow"\. Did you mean "allowlist"\?\n/,
  ],
  ['an option of every command', ['tools', '--quite'], /^Unknown option '--quite'\. Did you mean "--quiet"\?\n/],
  ['a subcommand', ['audit', 'vrify'], /Did you mean "verify"\?/],
  ['an option without a command', ['--jsn'], /^Unknown option '--jsn'\. Did you mean "--json"\?\n/],
])('suggests the nearest: %s', async (_, args, message) => {
  const { code, stderr } = await inside(args, folder)
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
})

it('--quiet leaves out hints and the usage after an error, and keeps results', async () => {
  expect((await inside(['tools', '--fast', '--quiet'], folder)).stderr).toBe("Unknown option '--fast'.\n")
  expect((await inside(['new', 'quiet-tool', '--quiet'], folder)).stdout).toBe('Wrote 8 files to quiet-tool.\n')
})

it('--no-color wins over FORCE_COLOR', async () => {
  const forced = { NO_COLOR: undefined, FORCE_COLOR: '1' }
  expect((await inside(['tools'], folder, forced)).stdout).toContain('\u001b[')
  expect((await inside(['tools', '--no-color'], folder, forced)).stdout).not.toContain('\u001b[')
})
