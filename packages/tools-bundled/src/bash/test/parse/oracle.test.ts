import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DirectoryEntry } from '@bulkhead/contract'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../../scripts/thoroughly.ts'
import type { Stage } from '../../parse/plan.ts'
import { parseCommand } from '../../parse/parse-command.ts'
import { expandPattern } from '../../run/file-names.ts'
import { BYPASS_VECTORS } from '../corpus/bypass-vectors.ts'
import { DEVELOPER_COMMANDS } from '../corpus/developer-commands.ts'

const RUNS = thoroughly(60, 600)
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-oracle-'))
  for (const name of ['a', 'ab', 'b.ts', 'c.ts', '.hidden', 'with space', 'Z', '[a]', 'a*', 'ü'])
    writeFileSync(join(folder, name), '')
  for (const name of ['sub', 'sub/deep', '.dot']) mkdirSync(join(folder, name))
  for (const name of ['sub/x.ts', 'sub/y.ts', 'sub/deep/z.ts', '.dot/f']) writeFileSync(join(folder, name), '')
  symlinkSync('sub', join(folder, 'linked'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Lists a folder as a tool does: links are neither files nor folders. */
const list = async (path: string): Promise<readonly DirectoryEntry[]> =>
  (await readdir(join(folder, path), { withFileTypes: true })).map((entry) =>
    ({ name: entry.name, kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other' }))

const ENV = { PATH: '/usr/bin:/bin', HOME: '/home/of/nobody', LC_ALL: 'C.UTF-8' }
const bash = (args: readonly string[], input?: string) =>
  spawnSync('bash', ['--noprofile', '--norc', ...args], { cwd: folder, env: ENV, input, encoding: 'utf8' })

/** What bash says about each text that it only parses. One shell starts the others, which is cheaper than from here. */
function complaints(texts: readonly string[]): readonly string[] {
  const each = 'printf %s "$text" | bash --noprofile --norc -n 2>&1; printf "\\0"'
  const { stdout } = bash(
    ['-c', `while IFS= read -r -d "" text; do ${each}; done`], texts.map((text) => `${text}\0`).join(''),
  )
  return stdout.split('\0').slice(0, -1)
}
const expectParsed = (texts: readonly string[]): void =>
  expect(complaints(texts).map((complaint, at) => [texts[at], complaint])).toEqual(texts.map((text) => [text, '']))

/**
 * All commands run in a single shell, because one shell each would take minutes. The last word marks the end of each.
 */
const PROGRAM = 'p() { printf "%s\\0" "$@" "<end>"; }'

/** Difficult input: quotes, escapes, patterns and operators in any order. */
const piece = fc.oneof(
  fc.constantFrom(
    'a', 'b', ' ', '  ', '\t', '"', "'", '\\', '\\\\', '\\"', "\\'", '\\ ', '\\\n', '*', '?', '[ab]', '[a-c]', '[!a]',
    '[', ']', '=', ':', '~', '/', './', 'sub/', '.', '#',
    ' #', '!', '%', '^', '+', '-', ',', '{', '}', '@', '.ts', 'ü',
    '\u00a0', '€', '\\*', "$'a\\n'", '"x y"', "'x y'", '\\$', '\\`', '"\\$"', '"\\a"', "'\\'",
  ),
  fc.stringMatching(/^[a-z]{1,3}$/),
)
const words = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => `p ${pieces.join('')}`)

async function argvOf({ words: all }: Stage): Promise<readonly string[]> {
  const argv: string[] = []
  for (const word of all)
    argv.push(...(word.pattern === undefined ? [word.text] : await expandPattern(word, '.', { list })))
  return argv.slice(1)
}

describe('compared with a real bash', () => {
  it('a command that bash cannot parse is noticed', () => {
    expect(complaints(['ls', 'if', "'"])).toEqual([
      '', expect.stringMatching('syntax error'), expect.stringMatching('EOF'),
    ])
  })

  it('the words of a plan are the arguments that bash passes to the program', async () => {
    const texts = fc.sample(words, { numRuns: RUNS * 4, seed: 20261115 })
    // A backslash at the end of a line would join it with the next one.
    const plans = texts.filter((text) => !text.endsWith('\\') && !text.endsWith('\\\n')).flatMap((text) => {
      const reading = parseCommand(text)
      const step = reading.kind === 'plan' && reading.steps.length === 1 ? reading.steps[0]! : undefined
      return step?.kind === 'run' && step.stages.length === 1 ? [{ text, stage: step.stages[0]! }] : []
    })
    expect(plans.length).toBeGreaterThan(RUNS)
    const { stdout } = bash(['-s'], `${PROGRAM}\n${plans.map(({ text }) => text).join('\n')}\n`)
    const printed = stdout.split('<end>\0').slice(0, -1).map((part) => part.split('\0').slice(0, -1))
    expect(printed.length).toBe(plans.length)
    for (const [index, { text, stage }] of plans.entries())
      expect([text, await argvOf(stage)]).toEqual([text, printed[index]])
  })

  it('a command that bash cannot parse is never a plan', () => {
    const hard = fc
      .array(
        fc.oneof(
          piece,
          fc.constantFrom(
            ';', '&', '|', '||', '&&', '(', ')', '\n', '<', '>', '>>', '<<E\n', '\nE\n', '2>&1', 'if ', 'fi', 'do ',
            'done', '$(', '`', '${', '}', 'p ',
          ),
        ),
        { minLength: 1, maxLength: 12 },
      )
      .map((pieces) => pieces.join(''))
    const plans = fc.sample(hard, { numRuns: RUNS * 8, seed: 7 }).filter((text) => parseCommand(text).kind === 'plan')
    expect(plans.length).toBeGreaterThan(RUNS / 12)
    expectParsed(plans.slice(0, RUNS))
  })

  it('bash can parse every plan of the two corpora', LONG, () => {
    const texts = [...Object.values(BYPASS_VECTORS).flat(), ...Object.values(DEVELOPER_COMMANDS).flat()].filter(
      (text) => parseCommand(text).kind === 'plan' && text.length < 10_000,
    )
    const tried = thoroughly(texts.filter((_, at) => at % 10 === 0), texts)
    expectParsed(tried)
  })

  it.each([
    'p a 2>&1', 'p < in', 'p <<EOF\nline one\n  two\nEOF', "p <<'EOF'\n$x `y` \\z\nEOF",
    'p <<-EOF\n\tindented\n\t\ttwice\n\tEOF', 'p <<< "here you are"', 'p <<EOF\nEOF',
  ])('the input of %j is the same as in bash', (text) => {
    writeFileSync(join(folder, 'in'), 'a file\n')
    const reading = parseCommand(text)
    const step = reading.kind === 'plan' ? reading.steps[0]! : undefined
    const stdin = step?.kind === 'run' ? step.stages[0]!.stdin : undefined
    const { stdout } = bash(['-c', `p() { cat; }\n${text}`])
    rmSync(join(folder, 'in'))
    expect(stdin === undefined ? '' : 'file' in stdin ? 'a file\n' : stdin.text).toBe(stdout)
  })
})
