import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { asks, denies, useRules, type TestRule } from '../use-rules.ts'
import { requireMountable } from '../../src/shell/bubblewrap-wall.ts'
import { ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
const inWorkspace = (path: string): string => join(setup.workspace, path)
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
  mkdirSync(inWorkspace('keys/deep'), { recursive: true })
  mkdirSync(inWorkspace('src'))
  for (const file of ['keys/deep/k', 'src/.secret', 'src/a', 'b'])
    writeFileSync(inWorkspace(file), `content of ${file}\n`)
})
afterAll(() => setup.clear())

const run = async (
  kind: 'look' | 'work' | 'open', script: string, rules: readonly TestRule[], answer?: Parameters<typeof useRules>[1],
) => {
  const { shell } = setup.open(setup.everything(), { path: ['/usr/bin', '/bin'] }, { uses: useRules(rules, answer) })
  return shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: kind })
}
const refusalOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(() => 'ran', (error: unknown) => `${errorCode(error)}: ${(error as Error).message}`)

const READ_ALL = 'for path in keys/deep/k src/.secret src/a b link; do cat $path 2>/dev/null; done'
const hidden = () => [denies('fs.read', inWorkspace('keys')), denies('fs.read', inWorkspace('**/.secret'))]

describe('a command', WALLS, () => {
  it(
    'that only reads sees the entries beside a denied one, also where a link leads to that', needs('Linux'),
    async () => {
      symlinkSync('src/.secret', inWorkspace('link'))
      const { stdout } = await run('look', READ_ALL, hidden())
      expect(stdout).toBe('content of src/a\ncontent of b\n')
    },
  )

  it(
    'that writes sees them where bubblewrap works, and is refused elsewhere with the reason', needs('Linux'),
    async () => {
      const script = `${READ_ALL}; echo new > made; mv keys moved; cat moved/deep/k; rm -f src/.secret; mv src away; `
        + `cat away/.secret`
      const running = run('work', script, hidden())
      if (!has('bubblewrap')) {
        const refusal = await refusalOf(running)
        expect(refusal).toMatch(/^RuleDenied: The command was not run: the rule "fs\.read .*" denies files, /)
        expect(refusal).toContain(' denies files, and without bubblewrap a command that writes cannot be kept from')
        expect(existsSync(inWorkspace('made'))).toBe(false)
        return
      }
      expect((await running).stdout).toBe('content of src/a\ncontent of b\n')
      expect(readFileSync(inWorkspace('made'), 'utf8')).toBe('new\n')
      expect(readFileSync(inWorkspace('src/.secret'), 'utf8')).toBe('content of src/.secret\n')
    },
  )

  it('runs where nothing that exists is denied', { ...needs('Linux'), ...LONG }, async () => {
    const { stdout } = await run('work', 'cat b > made; cat made', [denies('fs.read', inWorkspace('**/.env'))])
    expect(stdout).toBe('content of b\n')
  })

  it('does not see a place outside of the workspace that a rule names', needs('Linux', 'root'), async () => {
    const outside = realpathSync(mkdtempSync('/opt/bulkhead-named-'))
    onTestFinished(() => rmSync(outside, { recursive: true }))
    writeFileSync(join(outside, 'k'), 'named\n')
    writeFileSync(join(outside, 'free'), 'free\n')
    const script = `cat ${outside}/k ${outside}/free`
    expect((await run('look', script, [denies('fs.read', join(outside, 'k'))])).stdout).toBe('free\n')
    expect((await run('work', script, [denies('fs.read', join(outside, 'k'))])).stdout).toBe('free\n')
  })

  it('does not see settings of the system that a rule names', { ...needs('Linux'), ...LONG }, async () => {
    for (const kind of ['look', 'work'] as const) {
      const { stdout } = await run(kind, 'cat /etc/passwd; head -c 0 /etc/group && echo seen', [
        denies('fs.read', '/etc/passwd'),
      ])
      expect(stdout, kind).toBe('seen\n')
      expect((await run(kind, 'cat /etc/passwd /etc/group; echo ran', [denies('fs.read', '/etc')])).stdout, kind).toBe(
        'ran\n',
      )
    }
  })

  it('does not run without a wall', async () => {
    expect(await refusalOf(run('open', 'cat b', hidden()))).toMatch(
      /^RuleDenied: .*the command would run without a wall/,
    )
  })

  it('does not get the whole network where a rule denies a host', async () => {
    const { shell } = setup.open(setup.everything(), {}, { uses: useRules([denies('net.fetch', 'evil.example')]) })
    const running = shell.pipe([{ cmd: 'sh', args: ['-c', 'true'] }], { wall: 'work', hosts: 'all' })
    expect(await refusalOf(running)).toMatch(/^RuleDenied: .*"net\.fetch evil\.example" denies hosts/)
  })

  it('is judged by its words', async () => {
    const { shell } = setup.open(setup.everything(), {}, { uses: useRules([denies('shell.run', 'cat b*')]) })
    expect(await refusalOf(shell.run('cat', ['b']))).toMatch(/^RuleDenied/)
    expect((await shell.run('cat', ['src/a'])).stdout).toBe('content of src/a\n')
  })
})

describe('what rules ask about', () => {
  it('is asked before a command starts that could use it, and not if it could not', async () => {
    const asked: string[] = []
    const rules = [
      asks('fs.read', inWorkspace('keys/**')), asks('fs.write', inWorkspace('b')), asks('fs.read', '/home/other/**'),
      asks('net.fetch', 'api.example'),
    ]
    const answer = async (_: unknown, rule: string) => asked.push(rule) > 0
    await refusalOf(run('look', 'true', rules, answer))
    expect(asked).toEqual([rules[0]!.rule])
    await refusalOf(run('work', 'true', rules, answer))
    expect(asked.slice(1)).toEqual([rules[0]!.rule, rules[1]!.rule])
  })

  it('keeps the command from starting if the answer is no', async () => {
    const rules = [asks('fs.read', inWorkspace('keys/**'))]
    expect(await refusalOf(run('work', 'echo x > made', rules))).toMatch(/^ApprovalDenied/)
    expect(existsSync(inWorkspace('made'))).toBe(false)
  })
})

it('are refused if they are more than can be hidden', () => {
  const denied = Array.from({ length: 1_001 }, (_, index) =>
    ({ path: `/w/f${index}`, isFolder: false, isHidden: index % 2 === 0, rule: 'the rule "x"' }))
  const form = { wall: 'work', isolated: false, roots: ['/w'], visible: [], isConnected: false, denied } as const
  expect(() => requireMountable(form)).toThrow('1001 files are too many to hide')
  requireMountable({ ...form, denied: denied.slice(1) })
  // Behind this wall nothing is written anyway.
  requireMountable({ ...form, wall: 'look' })
})

describe('a denied place that is only not written', needs('bubblewrap'), () => {
  it('can be read behind the work wall, and neither changed nor replaced', async () => {
    const script = 'cat src/a; echo x > src/a; rm -f src/a; mv src away; cat src/a'
    const { stdout } = await run('work', script, [denies('fs.write', inWorkspace('src/a'))])
    expect(stdout).toBe('content of src/a\ncontent of src/a\n')
  })
  it('is the list of files that no tool uses', async () => {
    writeFileSync(inWorkspace('.bulkheadignore'), 'keys/\n')
    const { stdout } = await run('work', 'echo x >> .bulkheadignore; rm -f .bulkheadignore; cat .bulkheadignore', [])
    expect(stdout).toBe('keys/\n')
  })
})
