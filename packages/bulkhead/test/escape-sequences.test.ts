import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { actionsOf, optionsOf } from '../src/cli/command.ts'
import { COMMANDS } from '../src/cli/main.ts'
import { inside } from './command-inside.ts'

/** Sets the title of a terminal, colors in one byte, and reverses the text that follows. */
const HOSTILE = 'x\u001B]0;owned\u0007\u009B31m\u202Ex'
// eslint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E]/

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-escapes-')))
  mkdirSync(join(folder, HOSTILE))
  writeFileSync(join(folder, 'README.md'), '# Shop\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

async function expectSafe(args: readonly string[], at = folder): Promise<void> {
  const { stdout, stderr } = await inside(args, at)
  expect.soft(UNSAFE.test(stdout + stderr), `${JSON.stringify(args)} ${JSON.stringify(stdout + stderr)}`).toBe(false)
}

it('escapes a command that does not exist, and options before a command', async () => {
  for (const args of [[HOSTILE], [`--${HOSTILE}`], [`-${HOSTILE}`], ['tools', `--${HOSTILE}`], [`--json`, HOSTILE]])
    await expectSafe(args)
})

/** They serve until they are ended. */
const SERVES = new Set(['mcp', 'dev', 'inspect', 'waiting serve', 'passkey add'])

/** A sixth of the commands. `pnpm soak` tries all of them. */
const checked = [...COMMANDS.keys()]
  .filter((name) => !SERVES.has(name))
  .filter((_, index) => index % thoroughly(6, 1) === 0)
it.each(checked)('escapes arguments and options of %s', async (name) => {
  const command = await COMMANDS.get(name)!.load()
  const { operands = {} } = command
  for (const args of [[HOSTILE], [HOSTILE, HOSTILE], [`./${HOSTILE}`]]) await expectSafe([name, ...args])
  const given = Object.entries(optionsOf(command))
    .filter(([, { type }]) => type === 'string')
    .map(([option]) => [`--${option}`, HOSTILE])
  for (const first of [
    ...Object.keys(actionsOf(command)).filter((one) => one !== '' && !SERVES.has(`${name} ${one}`)),
    ...(operands.NAME ? ['read'] : []),
  ]) {
    for (const more of [[HOSTILE], ...given]) await expectSafe([name, first, ...more])
  }
  for (const more of given) await expectSafe([name, ...more])
})

it('escapes paths that commands print on success', LONG, async () => {
  const place = join(folder, HOSTILE)
  const lines = [
    ['new', './word-count', '--template', 'tool', '--yes'],
    ['new', `./${HOSTILE}/other`, '--template', 'tool', '--yes'], ['pack', './word-count', '--out', HOSTILE],
    ['verify', './word-count'], ['conformance', './word-count', '--only', 'manifest', '--junit', `${HOSTILE}.xml`],
    ['diff', './word-count', './word-count'], ['publish', './word-count', '--dry-run'],
    ['install', './word-count', '--yes'], ['uninstall', 'word-count'], ['config', 'set', 'mode', 'ask'],
    ['config', 'list', '--origin'], ['config', 'get', 'mode', '--origin'],
    ['mcp', 'add', 'shop', '--', 'true', HOSTILE], ['mcp', 'remove', 'shop'], ['trust', '--decline'],
    ['trust', '--status'], ['trust', '--list'], ['trust-root'], ['doctor'], ['tools'], ['agents'], [],
    ['call', 'write', '--mode', 'yolo', '--args', '{"path":"note.txt","content":"a"}'], ['undo'], ['undo', 'last'],
    ['audit', 'tail'], ['audit', 'tail', '--all'], ['audit', 'show', 'cli'],
    ['audit', 'archive', `${HOSTILE}.jsonl`, '--keep', '0'], ['approvals', 'list'],
    ['explain', 'read'], ['reload'],
  ]
  for (const args of lines) await expectSafe(args, place)
})
