import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { optionsOf, shownOptions } from '../src/cli/command.ts'
import { COMMANDS } from '../src/cli/main.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

/** Command lines, and what completes their last word. Folders and files are those of the folder below. */
const CASES: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['bulkhead to', ['tools']],
  ['bulkhead trust', ['trust', 'trust-root']],
  ['bulkhead call --mo', ['--mode']],
  ['bulkhead call --mode ', ['allowlist', 'ask', 'learn', 'yolo']],
  ['bulkhead call read --mode a', ['allowlist', 'ask']],
  ['bulkhead call gre', ['greet', 'grep']],
  ['bulkhead call read --agent ', ['reviewer']],
  ['bulkhead uninstall ', ['greeter']],
  ['bulkhead audit ', ['archive', 'export', 'show', 'tail', 'verify']],
  [
    'bulkhead audit tail --',
    [
      '--all', '--count', '--failed', '--help', '--home', '--host', '--json', '--no-color', '--principal', '--quiet',
      '--session', '--since', '--store', '--tool', '--until',
    ],
  ],
  ['bulkhead approvals list --tool gre', ['greet', 'grep']],
  ['bulkhead completion ', ['bash', 'fish', 'zsh']],
  ['bulkhead help pa', ['pack', 'passkey']],
  ['bulkhead tools --workspace fol', ['folder']],
  ['bulkhead call --timeout ', []],
]

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-completion-'))
  mkdirSync(join(folder, 'folder'))
  writeExtension(join(folder, 'home/.bulkhead'), { id: 'greeter', tools: [{ name: 'greet' }] }, 'export default {}')
  mkdirSync(join(folder, 'home/.bulkhead/agents'))
  writeFileSync(join(folder, 'home/.bulkhead/agents/reviewer.json'), '{ "name": "reviewer" }')
  // The scripts ask for names. The answers are real; starting the command for each would take seconds.
  for (const kind of ['tool', 'extension', 'agent']) {
    const { stdout, stderr } = await inside(['completion', '--names', kind], folder)
    expect(stderr).toBe('')
    writeFileSync(join(folder, kind), stdout)
  }
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(folder, `script.${shell}`), (await inside(['completion', shell], folder)).stdout)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Asks the shell for all cases at once: one line for each, its words sorted. */
function ask(
  shell: string, args: readonly string[], script: (line: string) => string, before: string,
): readonly (readonly string[])[] {
  const code = [before, ...CASES.map(([line]) => `${script(line)}\necho ===`)].join('\n')
  const { stdout, stderr, status } = spawnSync(shell, [...args, '-c', code], {
    cwd: folder, encoding: 'utf8', env: { ...process.env, HOME: join(folder, 'home') },
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout
    .split('===\n')
    .slice(0, -1)
    .map((part) =>
      part
        .split('\n')
        .filter((word) => word !== '')
        .toSorted(),
    )
}

/** The words of a line; an empty last one if it ends with a space. */
const quotedWords = (line: string): string => line.split(' ').map((word) => `'${word}'`).join(' ')
const expected = CASES.map(([, offered]) => offered)

describe('bash', needs('bash'), () => {
  it('completes commands, options, values and names', LONG, () => {
    const before = 'bulkhead() { cat "$3"; }\nsource script.bash'
    const one = (line: string) =>
      `COMP_WORDS=(${quotedWords(line)}); COMP_CWORD=${line.split(' ').length - 1}; `
      + `_bulkhead; printf '%s\\n' "\${COMPREPLY[@]}"`
    expect(ask('bash', ['--norc'], one, before)).toEqual(expected)
  })
})

describe('zsh', needs('zsh'), () => {
  it('completes commands, options, values and names', () => {
    // Outside a widget the builtins of zsh refuse to run, so these list what they would offer.
    const before = `setopt no_nomatch
bulkhead() { cat "$3" }
compdef() { : }
offer() { local word; for word in "$@"; do [[ "$word" == "$words[CURRENT]"* ]] && print -r -- "$word"; done; : }
_describe() { [[ "$1" == -o ]] && shift; local -a all; all=(\${(P)2}); offer "\${(@)all%%:*}" }
compadd() { offer "\${(@P)2}" }
_files() { [[ "$1" == -/ ]] && offer *(/N) || offer *(N) }
source ./script.zsh`
    const one = (line: string) => `words=(${quotedWords(line)}); CURRENT=${line.split(' ').length}; _bulkhead`
    expect(ask('zsh', ['-f'], one, before)).toEqual(expected)
  })
})

describe('fish', needs('fish'), () => {
  it('completes commands, options, values and names', () => {
    const before = 'function bulkhead; cat $argv[3]; end\nsource script.fish'
    const one = (line: string) => `complete -C '${line}' | string replace -r '(/?)\\t.*$' '' | string trim -r -c /`
    expect(ask('fish', ['--no-config'], one, before)).toEqual(expected)
  })
})

it('every option in the help of a command is completed, and no other', async () => {
  const { stdout } = await inside(['completion', 'fish'], folder)
  for (const [name, { load }] of COMMANDS) {
    const shown = shownOptions(optionsOf(await load())).map(([option]) => option)
    const offered = stdout
      .split('\n')
      .filter((line) => new RegExp(`__bulkhead_at ${name}[ ';]`).test(line))
      .flatMap((line) => / -l ([a-z-]+)/.exec(line)?.[1] ?? [])
    expect(new Set(offered), name).toEqual(new Set([...shown, 'quiet', 'no-color', 'help']))
  }
})

it.each([
  [[], /^Name one shell after "completion": bash, zsh, fish\.\n/], [['bsh'], /Did you mean "bash" or "zsh"\?/],
])('refuses %j', async (args, message) => {
  expect(await inside(['completion', ...args], folder)).toMatchObject({
    code: 2, stderr: expect.stringMatching(message),
  })
})
