import { describe, expect, it } from 'vitest'
import { analyzeCommand } from '../../src/bash/policy/analyze-command.ts'
import { BYPASS_VECTORS } from './corpus/bypass-vectors.ts'
import { DEVELOPER_COMMANDS } from './corpus/developer-commands.ts'

const context = { workspace: '/home/dev/project', folder: '.' }
const ALLOWED = new Set(['git status', 'ls', 'find', 'echo', 'cat'])
const vectors = Object.entries(BYPASS_VECTORS).flatMap(([way, commands]) => commands.map((command) => ({ way, command })))
const ordinary = Object.values(DEVELOPER_COMMANDS).flat()

/** Whether it would run without anybody being asked under the allow-list, as the host decides it. */
function runsUnasked(command: string): boolean {
  const { asks, denies, subjects } = analyzeCommand(command, context).analysis
  return denies.length === 0 && asks.every(({ fresh }) => !fresh) && subjects.every(({ key }) => ALLOWED.has(key))
}

describe('ways around an allow-list of git status, ls, find, echo and cat', () => {
  it('are many', () => {
    expect(new Set(vectors.map(({ command }) => command)).size).toBeGreaterThanOrEqual(200)
  })
  it('none of them runs unasked', () => {
    expect(vectors.filter(({ command }) => runsUnasked(command))).toEqual([])
  })
  it.each(['git status', 'git status -sb', 'ls', 'ls -la src', 'find . -name "*.ts"', 'echo hello', 'cat a b', 'ls | cat', 'ls && git status; echo "a;b"', 'cat < a', 'ls *.ts', 'timeout 5 ls', 'NO_COLOR=1 ls', 'ls 2>/dev/null', 'cd src && ls'])(
    'while `%s` does', (command) => {
      expect(runsUnasked(command)).toBe(true)
    })
})

describe('what developers type', () => {
  const kinds = Map.groupBy(ordinary, (command) => analyzeCommand(command, context).kind)
  it('is much', () => {
    expect(new Set(ordinary).size).toBeGreaterThanOrEqual(200)
  })
  it('is understood in at least 95 of 100 cases, mostly without a shell', () => {
    const unread = (kinds.get('unread') ?? []).concat(ordinary.filter((command) => analyzeCommand(command, context).analysis.asks.some(({ fresh }) => fresh)))
    expect(unread.length / ordinary.length, unread.join('\n')).toBeLessThanOrEqual(0.05)
    expect((kinds.get('plan') ?? []).length / ordinary.length, (kinds.get('shell') ?? []).join('\n')).toBeGreaterThan(0.85)
  })
  it('is never taken for a catastrophe', () => {
    expect(ordinary.filter((command) => analyzeCommand(command, context).analysis.denies.some((why) => !/outside the workspace/.test(why)))).toEqual([])
  })
})
