import { describe, expect, it } from 'vitest'
import { analyzeCommand } from '../policy/analyze-command.ts'
import { BYPASS_VECTORS } from './corpus/bypass-vectors.ts'
import { DEVELOPER_COMMANDS } from './corpus/developer-commands.ts'

const context = { workspace: '/home/dev/project', folder: '.' }
const ALLOWED = new Set(['git status', 'ls', 'find', 'echo', 'cat'])
const vectors = Object.entries(BYPASS_VECTORS).flatMap(([way, commands]) =>
  commands.map((command) => ({ way, command })),
)
const ordinary = Object.values(DEVELOPER_COMMANDS).flat()

/**
 * Whether a command would run without approval under the allow list, without a wall or behind one. Same logic as in the
 * host.
 */
function runsUnasked(command: string, isWalled = false): boolean {
  const { analysis } = analyzeCommand(command, context)
  const { asks, denies, subjects } =
    isWalled && analysis.command.look ? { ...analysis, asks: [], ...analysis.command.look } : analysis
  return denies.length === 0 && asks.every(({ fresh }) => !fresh) && subjects.every(({ key }) => ALLOWED.has(key))
}

describe('an allow list of git status, ls, find, echo and cat', () => {
  it('is tested with at least 200 bypass attempts', () => {
    expect(new Set(vectors.map(({ command }) => command)).size).toBeGreaterThanOrEqual(200)
  })
  it('lets no bypass attempt run without approval where no wall stands', () => {
    expect(vectors.filter(({ command }) => runsUnasked(command))).toEqual([])
  })
  it.each([
    'git status', 'git status -sb', 'ls', 'ls -la src', 'find . -name "*.ts"', 'echo hello', 'cat a b', 'ls | cat',
    'ls && git status; echo "a;b"', 'cat < a', 'ls *.ts', 'timeout 5 ls', 'NO_COLOR=1 ls', 'ls 2>/dev/null',
    'cd src && ls',
  ])('lets `%s` run without approval behind the look wall', (command) => {
    expect(runsUnasked(command, true)).toBe(true)
  })
})

describe('common developer commands', () => {
  const kinds = Map.groupBy(ordinary, (command) => analyzeCommand(command, context).kind)
  it('number at least 200', () => {
    expect(new Set(ordinary).size).toBeGreaterThanOrEqual(200)
  })
  it('are parsed in at least 95% of cases, mostly as plans without a shell', () => {
    const unread = (kinds.get('unread') ?? []).concat(
      ordinary.filter((command) => analyzeCommand(command, context).analysis.asks.some(({ fresh }) => fresh)),
    )
    expect(unread.length / ordinary.length, unread.join('\n')).toBeLessThanOrEqual(0.05)
    expect((kinds.get('plan') ?? []).length / ordinary.length, (kinds.get('shell') ?? []).join('\n')).toBeGreaterThan(
      0.85,
    )
  })
  it('are never denied as destructive', () => {
    expect(
      ordinary.filter((command) =>
        analyzeCommand(command, context).analysis.denies.some((why) => !/outside the workspace/.test(why)),
      ),
    ).toEqual([])
  })
})
