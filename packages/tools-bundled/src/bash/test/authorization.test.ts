import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApprovalAnswer, ApprovalRequest, ConfigFile, Outcome, Rule } from '@bulkhead/contract'
import { createHost, type Host, type SessionOptions } from '@bulkhead/host'
import { createLoader } from '@bulkhead/loader'
import { createSandbox, type PooledSandbox } from '@bulkhead/sandbox'
import { createMemoryStore } from '@bulkhead/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, WALLS } from '../../../../../scripts/machine.ts'
import { lookWall } from '../../../../broker/src/index.ts'
import { analyzeCommand } from '../policy/analyze-command.ts'
import { argumentsReaders, bundledExtensions } from '../../index.ts'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { BYPASS_VECTORS } from './corpus/bypass-vectors.ts'
import { BESIDE, DESTRUCTIVE, RUN_TOUCH } from './corpus/judged-commands.ts'

const isWalled = has('bubblewrap') || (await lookWall()).stands

let root: string
let workspace: string
let host: Host
let sandbox: PooledSandbox
let asked: ApprovalRequest[]
let answer: ApprovalAnswer

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-authorization-')))
  workspace = join(root, 'workspace')
  mkdirSync(join(workspace, 'sub'), { recursive: true })
  writeFileSync(join(root, 'secret'), 'precious')
  asked = []
  answer = { decision: 'reject' }
})
afterEach(async () => {
  await host.close()
  await sandbox.close()
  rmSync(root, { recursive: true })
})

const bundled = bundledExtensions.find(({ manifest: { id } }) => id === 'bash')!

async function open(config: ConfigFile, session: SessionOptions = {}) {
  const loader = createLoader({
    coreVersion: '1.0.0', roots: { global: join(root, 'home'), projectFolder: '.bulkhead' }, bundled: [bundled],
  })
  const report = await loader.load({ workspace, trust: 'declined', projectDigest: 'any', overrides: config })
  sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
  host = createHost({
    report, sandbox, store: createMemoryStore(), workspace, userData: join(root, 'home'), env: () => undefined,
    argumentsReaders,
  })
  const approve = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
    asked.push(request)
    return answer
  }
  const opened = await host.openSession({ approver: { approve }, ...session })
  return (command: string, more = {}): Promise<Outcome> =>
    opened.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command, ...more } })
}

/** Where no wall stands, the keys say so. */
const keysAsked = (): readonly string[] => asked.map(({ approvalKey }) => approvalKey.replace(/^\[open\] /, ''))

const FIVE: ConfigFile = {
  mode: 'allowlist', allowlist: ['bash:git status', 'bash:ls', 'bash:find', 'bash:echo', 'bash:cat'],
}
/** Every third; `pnpm soak` runs all of them. */
const SOME_BESIDE = BESIDE.filter((_, at) => at % thoroughly(3, 1) === 0)
const codeOf = (outcome: Outcome): string => outcome.type === 'output' ? 'output' : outcome.error.code

describe('an allow list of git status, ls, find, echo and cat', () => {
  it('no bypass attempt runs without approval or has an effect', WALLS, async () => {
    const bash = await open(FIVE)
    // One of 24 of each group. corpus.test.ts checks the decision about all of them, and `pnpm soak` runs all.
    const attempts = Object.values(BYPASS_VECTORS).flatMap((group) =>
      group.filter((_, at) => at % thoroughly(24, 1) === 0),
    )
    for (const command of attempts) {
      asked = []
      const outcome = await bash(command)
      const code = codeOf(outcome)
      // What is misjudged runs behind the look wall.
      const isLooking =
        isWalled && analyzeCommand(command, { workspace, folder: '.' }).analysis.command.look !== undefined
      expect([command, code, asked.length]).toEqual([
        command, isLooking ? 'output' : expect.stringMatching(/^(?:ApprovalDenied|WatchdogDenied|ApprovalKeyInvalid)$/),
        code === 'ApprovalDenied' ? 1 : 0,
      ])
      expect(JSON.stringify(outcome)).not.toContain('precious')
    }
    expect(readdirSync(workspace)).toEqual(['sub'])
  })

  it('the listed commands run without approval, alone and combined', async () => {
    const bash = await open(FIVE)
    for (const command of [
      'ls', ...(isWalled ? ['ls -la sub | cat'] : []), 'echo a && echo b', 'timeout 9 ls', 'cat < /dev/null',
    ])
      expect(codeOf(await bash(command))).toBe('output')
    expect(asked).toEqual([])
  })
})

describe('a pattern covers only the command it matches', () => {
  const expectRefused = async (
    bash: Awaited<ReturnType<typeof open>>, code = 'ApprovalDenied', commands = SOME_BESIDE,
  ): Promise<void> => {
    for (const command of commands) expect([command, codeOf(await bash(command))]).toEqual([command, code])
    expect(readdirSync(workspace)).toEqual(['sub'])
  }

  it('an allow list matches only its command', async () =>
    expectRefused(await open({ mode: 'allowlist', allowlist: ['bash:npm run *'] })))
  it('a rule matches only its command', async () => {
    const rules: readonly Rule[] = [
      { permission: 'bash', pattern: '*', action: 'deny' },
      { permission: 'bash', pattern: 'npm run *', action: 'allow' },
    ]
    await expectRefused(await open({}, { mode: 'yolo', rules }), 'RuleDenied')
  })
  it('an earlier approval matches only its command', LONG, async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    // It runs, and npm takes long to start.
    await bash('mkdir -p sub')
    answer = { decision: 'reject' }
    await expectRefused(
      bash, 'ApprovalDenied', SOME_BESIDE.map((command) => command.replaceAll('npm run x', 'mkdir -p sub')),
    )
  })

  it('each command of a pipeline needs a matching pattern', async () => {
    const bash = await open({ mode: 'allowlist', allowlist: ['bash:touch *', 'bash:tee *', 'bash:> out'] })
    expect(codeOf(await bash('touch x | tee a | tee b > out'))).toBe('output')
    expect([asked, readdirSync(workspace)]).toEqual([[], ['a', 'b', 'out', 'sub', 'x']])
  })

  it('a pattern without a wildcard does not cover piped input', async () => {
    const bash = await open({ mode: 'allowlist', allowlist: ['bash:echo', 'bash:sh', 'bash:touch a'] })
    for (const command of ["echo 'touch pwned' | sh", 'echo x | touch a'])
      expect([command, codeOf(await bash(command))]).toEqual([command, 'ApprovalDenied'])
  })

  it('a deny rule can match a whole pipeline', async () => {
    const bash = await open(
      {}, { mode: 'yolo', rules: [{ permission: 'bash', pattern: 'printenv * | tee *', action: 'deny' }] },
    )
    expect(codeOf(await bash('printenv HOME | tee pwned'))).toBe('RuleDenied')
  })
})

describe('an approval covers', () => {
  it('all read-only uses of a program, and nothing else', LONG, async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    await bash('ls')
    await bash('ps aux')
    await bash('ps -ef')
    expect(keysAsked()).toEqual(['ps'])
    await bash('ls /etc')
    await bash('ps --unknown')
    expect(keysAsked()).toEqual(['ps', '[effects] ls /etc', '[effects] ps --unknown'])
  })

  it('exactly the same command in the same folder with the same input', async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    await bash('touch a')
    await bash('timeout 5 touch a 2>&1')
    expect(asked.length).toBe(1)
    for (const other of [
      'touch b', 'touch a b', 'X=1 touch a', 'touch a < /dev/null | cat', 'cd sub && touch a', 'ls | touch a',
    ]) {
      asked = []
      await bash(other)
      expect([other, asked.length]).toEqual([other, 1])
    }
    asked = []
    await bash('touch a', { cwd: 'sub' })
    expect(keysAsked()).toEqual(['[in sub] touch a'])
  })

  it('all commands of a command line with the same operators', LONG, async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    await bash('touch a && touch b')
    await bash('touch a && touch b')
    expect(asked.length).toBe(1)
    await bash('touch a || touch b')
    await bash('touch b')
    expect(asked.length).toBe(3)
    await bash('touch a')
    asked = []
    await bash('touch b; touch a')
    expect(asked).toEqual([])
  })

  it('a shell script with the same text, but never a command that cannot be parsed', LONG, async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    await bash('for i in 1 2; do touch $i; done')
    await bash('for i in 1 2; do touch $i; done')
    expect(asked.length).toBe(1)
    expect(asked[0]!.reasons).toContain('it needs a shell: a loop')
    await bash('eval "echo x"')
    await bash('eval "echo x"')
    expect(asked.length).toBe(3)
    expect(asked[2]!.reasons.join()).toMatch(/cannot determine/)
  })

  it('only the same command, even if the key is shortened', LONG, async () => {
    const bash = await open({}, { mode: 'ask' })
    answer = { decision: 'session' }
    const long = 'x'.repeat(3_000)
    await bash(`touch ${long}a`)
    await bash(`touch ${long}a`)
    await bash(`touch ${long}b`)
    expect(asked.length).toBe(2)
    expect(asked[0]!.approvalKey).toMatch(/… sha256:[0-9a-f]{64}$/)
  })
})

describe('rules', () => {
  const rule = (action: Rule['action'], pattern: string, permission = 'bash'): Rule => ({ permission, pattern, action })
  const bashUnder = (...rules: readonly Rule[]) => open({}, { mode: 'yolo', rules })

  it.each([
    [[rule('deny', 'touch*'), rule('allow', '*')]], [[rule('deny', 'touch*', 'shell.run')]],
  ])('a deny rule for `touch` denies every command that would run it: %o', async (rules) => {
    const bash = await bashUnder(...rules)
    for (const command of RUN_TOUCH) {
      expect([command, codeOf(await bash(command))]).toEqual([
        command, expect.stringMatching(/^(?:RuleDenied|WatchdogDenied)$/),
      ])
      expect(existsSync(join(workspace, 'x'))).toBe(false)
    }
  })

  it('an allow rule for one command does not allow other commands or paths with the same prefix', async () => {
    const bash = await open({}, { rules: [rule('allow', 'ls'), rule('allow', 'echo')] })
    for (const command of ['ls; touch x', 'ls/evil', 'ls | touch x']) {
      asked = []
      expect([command, codeOf(await bash(command)), asked.length]).toEqual([command, 'ApprovalDenied', 1])
    }
  })

  it('an allow rule after a deny rule for everything allows exactly that command', WALLS, async () => {
    const bash = await bashUnder(rule('deny', '*'), rule('allow', 'ls'))
    expect(codeOf(await bash('ls -la'))).toBe(isWalled ? 'output' : 'RuleDenied')
    expect(codeOf(await bash('ls sub'))).toBe('output')
    expect(codeOf(await bash('ls -la; echo a'))).toBe('RuleDenied')
  })

  it('destructive commands are denied in every mode', async () => {
    const bash = await bashUnder(rule('allow', '*'))
    for (const command of DESTRUCTIVE)
      expect([command, codeOf(await bash(command))]).toEqual([command, 'WatchdogDenied'])
  })
})
