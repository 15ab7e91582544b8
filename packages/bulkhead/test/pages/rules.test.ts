import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ConfigFile, Outcome, RuleAction } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, WALLS } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { assembleHost, type AssembledHost } from '../../src/facade/create-host.ts'
import type { Rule } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { IN_THREADS, writeExtension } from '../extension-folder.ts'

const PAGE = new URL('../../../../docs/guides/rules.md', import.meta.url)
const [, SECTION = ''] =
  /^## Modes, uses and ignored files by example$(.*?)^## /ms.exec(readFileSync(PAGE, 'utf8')) ?? []

interface Example {
  readonly policy: readonly string[]
  readonly call: string
  readonly decisions: readonly RuleAction[]
}

const EXAMPLES = SECTION.split('\n').filter((line) => line.startsWith('| ')).slice(1).map((line): Example => {
  const [, policy = '', call = '', decision = ''] = line.split('|').map((cell) => cell.trim())
  return {
    policy: [...policy.matchAll(/`([^`]+)`/g)].map(([, text]) => text!), call: call.slice(1, -1),
    decisions: decision.split(', then ') as RuleAction[],
  }
})

let folder: string
let opened: AssembledHost | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-rules-')))
  const files = ['src/a.ts', 'src/b.ts', 'package.json', '.env', 'secrets/k', 'secrets/pub/x']
  for (const file of files) write(`work/${file}`, 'precious\n')
})
afterEach(async () => {
  await opened?.host.close()
  opened = undefined
  rmSync(folder, { recursive: true })
})

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

const ofAuthor = (policy: readonly string[], author: string): readonly Rule[] => policy.flatMap((line) => {
  if (!line.startsWith(`${author}: `)) return []
  const [permission = '', ...words] = line.slice(author.length + 2).split(' ')
  const action = words.pop() as RuleAction
  return [{ permission, pattern: words.join(' '), action }]
})
const wordsAfter = (policy: readonly string[], start: string): readonly string[] =>
  policy.flatMap((line) => line.startsWith(`${start} `) ? [line.slice(start.length + 1)] : [])

const withRules = (rules: readonly Rule[]): ConfigFile => rules.length === 0 ? {} : { rules: [...rules] }

async function open(policy: readonly string[]) {
  const [mode] = wordsAfter(policy, 'mode')
  const allowlist = wordsAfter(policy, 'allowlist')
  const user = {
    ...(mode && { mode }), ...(allowlist.length > 0 && { allowlist }), ...withRules(ofAuthor(policy, 'user')),
  }
  write('home/config.json', JSON.stringify(user))
  write('work/.bulkhead/config.json', JSON.stringify(withRules(ofAuthor(policy, 'project'))))
  const ignored = wordsAfter(policy, '.bulkheadignore')
  if (ignored.length > 0) write('work/.bulkheadignore', `${ignored.join('\n')}\n`)
  const machine = ofAuthor(policy, 'machine')
  if (machine.length > 0) write('machine/policy.json', JSON.stringify({ rules: machine }))
  tools()
  const agent = ofAuthor(policy, 'agent')
  opened = await assembleHost({
    workspace: join(folder, 'work'), home: join(folder, 'home'), machinePolicy: join(folder, 'machine/policy.json'),
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(folder, 'home') }, cache: CACHE,
    config: { ...IN_THREADS, ...withRules(ofAuthor(policy, 'embedder')) },
    ...(agent.length > 0 && { agents: [{ name: 'helper', rules: [...agent] }] }),
  }, 'as found')
  const asked: string[] = []
  const session = await opened.host.openSession({
    rules: [...ofAuthor(policy, 'session')], ...(agent.length > 0 && { agent: 'helper' }),
    approver: { approve: async ({ tool }) => (asked.push(tool), { decision: 'reject' }) },
  })
  return { session, asked }
}

function tools(): void {
  const text = { type: 'string' }
  const input = { type: 'object', properties: { path: text, target: text }, additionalProperties: false }
  const tool = (name: string, more: object, body: string) => writeExtension(
    join(folder, 'home'), { id: name, tools: [{ name, inputSchema: input, mode: undefined, ...more }] }, body,
  )
  const reads = (name: string) =>
    `const execute = async ({ path }, { fs }) => ({ text: await fs.readText(path) })
    export default { tools: { ${name}: { execute } } }`
  const requires = { fs: { read: ['{workspace}/**'] } }
  tool('reader', { requires, gated: true }, reads('reader'))
  tool('deployer', { requires, gated: true, approvalKey: '{target}' }, reads('deployer'))
  tool('runner', { mode: 'local' }, 'export default { tools: { runner: { execute: () => ({ done: true }) } } }')
  tool('adder', { gated: false }, 'export default { tools: { adder: { execute: () => ({ done: true }) } } }')
}

/** What a person would write after the name of the tool. */
const ARGUMENTS: Readonly<Record<string, (text: string) => Record<string, string>>> = {
  write: (path) => ({ path, content: 'new\n' }), bash: (command) => ({ command }), web_fetch: (url) => ({ url }),
  grep: (pattern) => ({ pattern }),
  deployer: (text) => ({ target: text.split(' ')[0]!, path: text.split(' ')[1]! }),
}

const endOf = (outcome: Outcome, asked: readonly string[]): RuleAction => {
  if (asked.length > 0) return 'ask'
  return outcome.type === 'error' && (outcome.error.code === 'RuleDenied' || outcome.error.code === 'ApprovalDenied')
    ? 'deny' : 'allow'
}

describe('an example of the page about rules', () => {
  it('is among more than twenty', () => {
    expect(EXAMPLES.length).toBeGreaterThan(20)
  })

  const check = async ({ policy, call: line, decisions: written }: Example): Promise<void> => {
    // Only mounts keep a command that writes from a file. Without them, the rule decides before it starts.
    const needsMounts = line === 'bash npm test' && policy.some((text) => text.endsWith('.env deny'))
    const decisions = needsMounts && !has('bubblewrap') ? ['deny'] : written
    const { session, asked } = await open(policy)
    const [name = '', ...words] = line.split(' ')
    const args = words.length === 0 ? {} : (ARGUMENTS[name] ?? ((path) => ({ path })))(words.join(' '))
    const call = { id: 'c', name, arguments: args }
    const { decision, chain } = await session.explain(call)
    expect({ decision, chain }).toMatchObject({ decision: decisions[0] })
    const outcome = await session.call(call)
    expect({ end: endOf(outcome, asked), outcome }).toMatchObject({ end: decisions.at(-1) })
  }
  const isOfCommand = ({ call }: Example): boolean => call.startsWith('bash ')
  const ofTools = EXAMPLES.filter((example) => !isOfCommand(example))
  it.each(ofTools.filter((_, index) => index % 3 === 0))('decides $call with $policy as the page says', check)
  it.each(ofTools.filter((_, index) => index % 3 > 0))('decides $call with $policy as the page says', LONG, check)
  it.each(EXAMPLES.filter(isOfCommand))('decides $call with $policy as the page says', WALLS, check)
})
