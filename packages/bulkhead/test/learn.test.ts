import {
  existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RULE_ACTIONS, type Rule } from '@bulkhead/contract'
import { locatedRules } from '@bulkhead/host'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WALLS } from '../../../scripts/machine.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { assembleHost } from '../src/facade/create-host.ts'
import { LEARN_VARIABLE, learningHere, startLearning, type LearnedCall } from '../src/facade/policy/learning.ts'
import { learnedNeeds, proposeRules } from '../src/facade/policy/proposal.ts'
import { askedSession } from '../src/facade/policy/recorded-decisions.ts'
import { createHost } from '../src/index.ts'
import { BUNDLED } from './bundled.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-learn-')))
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'home/.bulkhead/config.json')
const rule = (permission: string, pattern: string, action: Rule['action']): Rule => ({ permission, pattern, action })
const AGENT = join(import.meta.dirname, 'fixtures/learning-agent.ts')
/** Runs the command with an agent that makes these calls. */
const learn = (calls: readonly unknown[], ...more: readonly string[]) => {
  const args = ['learn', '--json', ...more, '--', process.execPath, ...BUNDLED, AGENT, JSON.stringify(calls)]
  return inside(args, folder, { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] })
}

it('runs what a mode would ask about, proposes the smallest rules, and writes them with --yes', {
  tags: ['walls', 'long'],
}, async () => {
  const rules = [rule('write', 'src/gen/**', 'deny'), rule('write', '**/*.lock', 'ask')]
  writeFileSync(file(), JSON.stringify({ rules }))
  const calls = [
    ...['a', 'b', 'c', 'gen/x'].map((name) => ['write', { path: `src/${name}.ts`, content: 'x\n' }]),
    ['write', { path: 'yarn.lock', content: '' }], ['bash', { command: 'touch made' }],
    ['bash', { command: 'curl -O https://example.com/a' }], ['read', { path: '/etc/passwd' }],
  ]
  const learned = await learn(calls, '--yes')
  const allowed = [rule('write', join(folder, 'src/**'), 'allow'), rule('bash', 'touch made', 'allow')]
  expect([learned.code, JSON.parse(learned.stdout)]).toMatchObject([0, {
    calls: 4, asksToday: 4, asksThen: 0, freed: 0, added: { length: 2 }, exitCode: 0,
    denied: ['src/gen/x.ts', 'yarn.lock'].map((path) => ({ tool: 'write', arguments: { path } }))
      .concat([{ tool: 'bash' }, { tool: 'read' }] as never),
    proposal: {
      left: [],
      rules: [
        { rule: allowed[0], calls: 3, onlyThirdParty: false }, { rule: allowed[1], calls: 1 },
      ],
    },
  }])
  const { rules: written } = JSON.parse(readFileSync(file(), 'utf8')) as { readonly rules: readonly Rule[] }
  expect(written).toEqual([...rules, ...allowed])
  expect(readdirSync(join(folder, 'home/.bulkhead/learning'))).toEqual([])
})

it('writes nothing without a terminal or --yes, and removes the record', { tags: ['walls', 'long'] }, async () => {
  writeFileSync(file(), '{}')
  const { code, stdout } = await learn([['write', { path: 'a', content: '' }]])
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { calls: 1, added: [], proposal: { rules: [{ calls: 1 }] } }])
  expect(readFileSync(file(), 'utf8')).toBe('{}')
  expect(readdirSync(join(folder, 'home/.bulkhead/learning'))).toEqual([])
})

it('records under the mode learn, and proposes in that folder without a command', WALLS, async () => {
  const config = (settings: object) => writeFileSync(file(), JSON.stringify(settings))
  const write = (path: string) => ['write', { path, content: '' }] as const
  const work = async (...calls: readonly (readonly [string, object])[]) => {
    await using stack = new AsyncDisposableStack()
    const home = join(folder, 'home/.bulkhead')
    const host = await createHost({ workspace: folder, home, cache: CACHE, env: {}, trust: 'once' })
    stack.defer(async () => void await host.close())
    const session = await host.openSession()
    const codes: unknown[] = []
    for (const [index, [name, args]] of calls.entries()) {
      const outcome = await session.call({ id: `c${index}`, name, arguments: args })
      codes.push(outcome.type === 'error' ? outcome.error.code : outcome.type)
    }
    return { codes, diagnostics: host.diagnostics.map(({ path, message }) => [path, message]) }
  }
  const propose = async (...more: readonly string[]) => {
    const { code, stdout } = await inside(['learn', '--json', ...more], folder)
    return { code, report: JSON.parse(stdout) as object }
  }
  expect(await propose()).toMatchObject({ code: 1, report: { error: { code: 'NotFound' } } })

  const rules = [rule('write', 'gen/**', 'deny'), rule('write', 'ask/**', 'ask')]
  config({ mode: 'learn', rules })
  const fetching = ['bash', { command: 'curl https://example.com/' }] as const
  const calls = [write('a'), write('gen/a'), write('ask/a'), fetching]
  const codes = ['output', 'RuleDenied', 'ApprovalDenied', 'CapabilityDenied']
  expect((await work(...calls)).codes).toEqual(codes)
  const allows = expect.stringContaining('every call of write for') as string
  const expected = {
    calls: 1, asksToday: 1, asksThen: 0, otherwise: [{ tool: 'write', today: 'ask', after: 'allow' }],
    proposal: { rules: [{ rule: rule('write', join(folder, 'a'), 'allow'), allows }] },
  }
  expect(await propose()).toMatchObject({ code: 1, report: { ...expected, added: [] } })
  expect(await propose('--yes')).toMatchObject({ code: 0, report: expected })
  expect(readdirSync(join(folder, 'home/.bulkhead/learning/kept'))).toEqual([])

  // Another ceiling, which a person gave.
  config({ mode: 'learn', learn: { ceiling: { fs: { read: ['{workspace}/**'], write: ['{workspace}/out/**'] } } } })
  expect((await work(write('out/a'), write('b'))).codes).toEqual(['output', 'CapabilityDenied'])
  // A project has no say.
  config({})
  mkdirSync(join(folder, '.bulkhead'))
  writeFileSync(join(folder, '.bulkhead/config.json'), JSON.stringify({ mode: 'learn', learn: {} }))
  const ofProject = await work(write('c'))
  expect(ofProject.codes).toEqual(['ApprovalDenied'])
  expect(ofProject.diagnostics).toEqual(expect.arrayContaining([
    ['/mode', expect.stringContaining('cannot make a host learn')],
    ['/learn', expect.stringContaining('A project cannot')],
  ]))
})

it('lets a host learn only with a grant that this user made in its home', () => {
  const home = join(folder, 'home/.bulkhead')
  const learns = (id: string | undefined) => learningHere(home, folder, { [LEARN_VARIABLE]: id }) !== undefined
  const grant = startLearning(home)
  expect(learns(grant.id)).toBe(true)
  for (const id of [undefined, '', crypto.randomUUID(), '../learning', `../../${'x'.repeat(30)}`]) {
    expect(learns(id)).toBe(false)
  }
  rmSync(join(grant.folder, 'grant.json'))
  expect(learns(grant.id)).toBe(false)
  writeFileSync(join(grant.folder, 'grant.json'), '{}', { mode: 0o644 })
  expect(learns(grant.id)).toBe(process.platform === 'win32')
  grant[Symbol.dispose]()
  expect(existsSync(grant.folder)).toBe(false)
})

const PATHS = ['src/a', 'src/b', 'src/c', 'src/deep/d', 'docs/e', 'docs/f', 'docs/g', 'docs/sub/h', 'top']
const anyRule: fc.Arbitrary<Rule> = fc.record({
  permission: fc.constantFrom('write', 'fs.write', '*', 'wri*'),
  pattern: fc.constantFrom('src/**', 'src/a', '**', 'docs/*', 'docs/e', 'src/deep', '**/d'),
  action: fc.constantFrom(...RULE_ACTIONS),
})

/** The folder of these files lies inside the deny, and has others that it denies. */
const INSIDE_A_DENY: [Rule[], string[]] =
  [[rule('write', '**', 'deny'), rule('write', 'docs/*', 'ask')], ['docs/e', 'docs/f', 'docs/g']]

/** A rule for the folder would be no exception. */
const INSIDE_AN_ASK: typeof INSIDE_A_DENY = [[rule('write', 'docs/*', 'ask')], ['docs/e', 'docs/f', 'docs/g']]

it('a learned policy allows what was learned, and frees nothing that is denied', async () => {
  const opened = async (rules: readonly Rule[]) => {
    writeFileSync(file(), JSON.stringify({ rules }))
    const found = await assembleHost(
      { workspace: folder, home: join(folder, 'home/.bulkhead'), cache: CACHE, env: {}, discover: 'when-asked' },
      'declined',
      { startsEager: false },
    )
    const session = await askedSession(found.host)
    const decide = async (path: string) =>
      (await session.explain({ id: 'c', name: 'write', arguments: { path, content: '' } })).decision
    return { ...found, session, decide }
  }
  await fc.assert(fc.asyncProperty(fc.array(anyRule, { maxLength: 3 }), fc.subarray(PATHS), async (rules, learned) => {
    const today = await opened(rules)
    const decided = new Map<string, string>()
    for (const path of PATHS) decided.set(path, await today.decide(path))
    const calls = learned.filter((path) => decided.get(path) !== 'deny').map((path): LearnedCall => ({
      kind: 'call', workspace: folder, tool: 'write', arguments: { path, content: '' }, decision: 'allow', reason: '',
      layer: 'bundled', extension: 'write', byTool: false,
    }))
    const strict = locatedRules(today.place.report.config, { workspace: [folder] })
      .filter(({ action }) => action !== 'allow')
    const { rules: proposed, left } = await proposeRules(today.session, calls, strict)
    await today.host.close()
    const then = await opened([...rules, ...proposed.map((one) => one.rule)])
    const isLeft = new Set(left.map(({ call }) => call.arguments['path']))
    for (const path of PATHS) {
      const now = await then.decide(path)
      if (decided.get(path) === 'deny') expect([path, now]).toEqual([path, 'deny'])
      else if (calls.some((call) => call.arguments['path'] === path) && !isLeft.has(path)) {
        expect([path, now]).toEqual([path, 'allow'])
      }
    }
    await then.host.close()
  }), { numRuns: thoroughly(3, 150), examples: [INSIDE_A_DENY, INSIDE_AN_ASK] })
})

it('tells what tools of others used, with hosts, methods and the start of paths', () => {
  const use = (part: 'net' | 'fs.read' | 'shell', subject: string) =>
    ({ kind: 'use', tool: 'weather', part, subject } as const)
  const call = { kind: 'call', tool: 'weather', layer: 'global' } as LearnedCall
  expect(learnedNeeds([call], [
    use('net', 'GET https://api.example.com/v1/oslo'), use('net', 'GET https://api.example.com/v1/bergen'),
    use('net', 'POST https://api.example.com/log'), use('fs.read', '/w/a.json'),
    ...['x', 'y', 'z'].map((name) => use('fs.read', `/w/data/${name}`)),
    use('shell', 'git status'), use('shell', 'git log -1'), use('shell', 'ls src'),
  ], '/w')).toEqual([{
    tool: 'weather', requests: ['GET api.example.com/v1/**', 'POST api.example.com/log'],
    requires: {
      fs: { read: ['{workspace}/a.json', '{workspace}/data/**'] }, net: { hosts: ['api.example.com'] },
      shell: [{ cmd: 'git', args: [{ rest: true }] }, { cmd: 'ls', args: ['src'] }],
    },
  }])
})
