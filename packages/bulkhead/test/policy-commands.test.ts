// bulkhead policy lint, test, add and remove.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rule } from '@bulkhead/contract'
import type { RuleFinding } from '@bulkhead/host'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-policies-')))
  mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true }))

const file = () => join(folder, 'home/.bulkhead/config.json')
const PASSKEY = ' with a passkey'
const rule = (text: string): Rule => {
  const passkey = text.endsWith(PASSKEY) && { passkey: true as const }
  const [permission = '', ...words] = text.replace(PASSKEY, '').split(' ')
  return { ...passkey, permission, action: words.pop() as Rule['action'], pattern: words.join(' ') }
}
/** One rule per line, from the third. */
const write = (...rules: readonly string[]): void =>
  writeFileSync(file(), `{\n"rules": [\n${rules.map((text) => JSON.stringify(rule(text))).join(',\n')}\n]\n}\n`)

describe('bulkhead policy lint', () => {
  async function found(...rules: readonly string[]) {
    write(...rules)
    const { code, stdout } = await inside(['policy', 'lint', '--json'], folder)
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly RuleFinding[] }
    return { code, findings: findings.map((one) => [one.kind, one.severity, one.rule.line, one.other?.line]) }
  }

  it.each([
    ['a rule that is there already', ['read src deny', 'read src deny'], [['cannot win', 'problem', 4, 3]]],
    ['opposite rules about the same', ['write src deny', 'write src/** allow'], [['contradicts', 'problem', 4, 3]]],
    ['a question beside one for a passkey', ['bash npm publish ask', 'bash npm publish ask with a passkey'],
      [['cannot win', 'problem', 3, 4]]],
    ['rules that overlap', ['write src/** allow', 'write **/*.lock ask'], [['contradicts', 'note', 3, 4]]],
    ['every command', ['bash * allow'], [['too wide', 'problem', 3]]],
    ['a program that runs what it is given', ['bash env * allow'], [['too wide', 'problem', 3]]],
    ['the whole machine', ['fs.read /** allow'], [['too wide', 'problem', 3]]],
    ['the hosts of everyone', ['net.fetch *.com allow'], [['too wide', 'problem', 3]]],
    ['everything', ['* * allow'], [['too wide', 'problem', 3]]],
    ['a name that nothing has', ['reed * deny'], [['decides nothing', 'problem', 3]]],
  ])('finds %s', async (_, rules, expected) => {
    const { code, findings } = await found(...rules)
    expect(findings).toEqual(expected.map(([kind, severity, line, other]) => [kind, severity, line, other]))
    expect(code).toBe(expected.some(([, severity]) => severity === 'problem') ? 1 : 0)
  })

  it('finds nothing in rules that work, and names file and line of those that do not', LONG, async () => {
    expect(await found(
      'write src/** allow', 'write src/gen/** deny', 'bash npm test allow', 'read * allow', 'bash curl * allow',
    )).toEqual({ code: 0, findings: [] })
    expect((await inside(['policy', 'lint'], folder)).stdout).toBe('Nothing is wrong with the 5 rules.\n')
    write('bash npm test allow', 'bash node * allow')
    expect((await inside(['policy', 'lint'], folder)).stdout).toContain(
      `too wide: bash node * allow  (user, ${file()}:4)`,
    )
  })
})

describe('bulkhead policy test', () => {
  const run = async (text: string, ...more: readonly string[]) => {
    writeFileSync(join(folder, 'tests.yaml'), text)
    return inside(['policy', 'test', 'tests.yaml', ...more], folder)
  }
  const TESTS = `
calls:
  - call: write
    arguments: { path: src/a.ts, content: x }
    expect: allow
  - name: nothing is published
    call: bash
    arguments: { command: npm publish }
    expect: deny
    rule: bash npm publish* deny
`

  it('passes if the policy decides as expected, and says where it does not', async () => {
    write('write src/** allow', 'bash npm publish* deny')
    expect(await run(TESTS)).toMatchObject({ code: 0, stdout: expect.stringContaining('All 2 calls are decided') })
    write('write docs/** allow', 'bash npm * deny')
    const { code, stdout } = await run(TESTS)
    expect(code).toBe(1)
    expect(stdout).toMatch(/FAILED +allow +ask +write \{"path":"src\/a\.ts"/)
    expect(stdout).toMatch(/FAILED +deny +deny +nothing is published/)
    expect(stdout).toContain(`bulkhead policy add write ${join(folder, 'src/a.ts')} allow`)
    expect(stdout).toContain('expected deny by the rule "bash npm publish* deny", but another decides')
    expect(stdout).toContain(`because the rule "bash npm *" of ${file()}:4 forbids it`)
    expect(stdout).toContain('2 of 2 calls are decided otherwise.')
    expect(JSON.parse((await run(TESTS, '--json')).stdout)).toMatchObject({
      ok: false, tests: [{ ok: false, decision: 'ask', expect: 'allow' }, { ok: false, decision: 'deny' }],
    })
  })

  it('tells a passkey from a question, and says how to remove the rule', async () => {
    const call = (expected: string) => `
calls:
  - call: write
    arguments: { path: src/a.ts, content: x }
    expect: ${expected}
    rule: write src/a.ts ask with a passkey
`
    write('write src/a.ts ask')
    expect(await run(call('ask'))).toMatchObject({ code: 1, stdout: expect.stringContaining('but another decides') })
    write('write src/a.ts ask with a passkey')
    expect(await run(call('ask'))).toMatchObject({ code: 0 })
    const { stdout } = await run(call('allow'))
    expect(stdout).toMatch('bulkhead policy remove write src/a.ts ask --passkey')
    expect(stdout).not.toMatch('Approve the key')
  })

  it('passes the file of the guide, with the rule that it names', async () => {
    const page = readFileSync(new URL('../../../docs/guides/policy.md', import.meta.url), 'utf8')
    const [, example = ''] = /```yaml policy-tests\.yaml\n(.*?)```/s.exec(page) ?? []
    write('write src/** allow', 'fs.write secrets/** deny')
    expect(await run(example)).toMatchObject({ code: 0, stdout: expect.stringContaining('All 3 calls') })
  })

  it('takes JSON, and a mode for one call or all', async () => {
    const one = { call: 'write', arguments: { path: 'a', content: '' } }
    const calls = [{ ...one, expect: 'allow' }, { ...one, mode: 'ask', expect: 'ask' }]
    expect(await run(JSON.stringify({ mode: 'yolo', calls }))).toMatchObject({ code: 0 })
  })

  it.each([
    ['what is no YAML', 'calls: [', /tests\.yaml: it is not valid YAML/],
    ['a misspelt key', 'calls: [{ call: read, expects: allow }]', /\/calls\/0\/expects .* perhaps it is "expect"/],
    ['no calls', '{}', /\/calls is missing/],
    ['aliases', 'a: &a x\ncalls: *a', /maxAliases|valid YAML/],
  ])('refuses %s', async (_, text, message) => {
    const { code, stderr } = await run(text)
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
  })
})

it('decides recorded calls again under another policy, and says what it cannot decide', async () => {
  const config = (audit: boolean, ...rules: readonly string[]) =>
    JSON.stringify({ audit: { arguments: audit }, rules: rules.map(rule) })
  const call = async (path: string) =>
    inside(['call', 'write', '--args', JSON.stringify({ path, content: 'x' })], folder)
  const replay = async (...more: readonly string[]) => {
    const store = ['--store', join(folder, 'home/.bulkhead/bulkhead.db')]
    const { code, stdout } = await inside(['policy', 'replay', '--json', ...store, ...more], folder)
    return { code, ...JSON.parse(stdout) as object }
  }
  writeFileSync(file(), config(false, 'write src/** allow'))
  await call('src/unknown.ts')
  writeFileSync(file(), config(true, 'write src/** allow', 'write src/gen/** deny'))
  for (const path of ['src/a.ts', 'src/gen/b.ts', 'docs/c.md']) await call(path)
  const notDecided = { withoutArguments: 1, redacted: 0, ofTools: 0, ofOtherSessions: 0 }
  expect(await replay()).toEqual({ code: 0, decided: 3, different: [], notDecided })
  writeFileSync(join(folder, 'other.json'), config(true, 'write docs/** allow'))
  expect(await replay('--with', 'other.json')).toMatchObject({
    code: 1, decided: 3, notDecided,
    different: [
      { subject: 'src/a.ts', recorded: 'allow', decision: 'ask' },
      { subject: 'src/gen/b.ts', recorded: 'deny', decision: 'ask' },
      { subject: 'docs/c.md', recorded: 'ask', decision: 'allow' },
    ],
  })
  const { stdout } = await inside(['policy', 'replay', '--with', 'other.json'], folder)
  expect(stdout).toContain('3 recorded calls were decided again, 3 of them differently.')
  expect(stdout).toContain('Not decided again: 1 without arguments: set audit.arguments to true to record them.')
  expect((await inside(['policy', 'replay', '--with', 'nothing.json'], folder)).code).toBe(1)
})

it('the proposed change allows the call, written as the commands take it', LONG, async () => {
  const explain = ['explain', 'write', '--args', '{"path":"src/a.ts","content":"x"}', '--json']
  const decided = async () => JSON.parse((await inside(explain, folder)).stdout) as {
    readonly decision: string
    readonly change?: { readonly add: readonly Rule[]; readonly remove: readonly Rule[] }
  }
  const policies = [[], ['write src/** deny'], ['write src/a.ts deny'], ['fs.write ** ask', 'write src/a.ts deny']]
  for (const rules of policies) {
    write(...rules)
    const { decision, change } = await decided()
    expect([rules, decision === 'allow']).toEqual([rules, false])
    for (const [act, changed] of Object.entries(change!).filter(([name]) => name !== 'allows')) {
      for (const { permission, pattern, action } of changed as readonly Rule[]) {
        expect(await inside(['policy', act, permission, pattern, action], folder)).toMatchObject({ code: 0 })
      }
    }
    expect([rules, (await decided()).decision]).toEqual([rules, 'allow'])
  }
})

it('adds and removes a rule once, keeps the rest, and says if it cannot win', async () => {
  writeFileSync(file(), '{ "mode": "ask" }')
  const change = (...args: readonly string[]) => inside(['policy', ...args], folder)
  expect(await change('add', 'bash', 'npm test', 'allow')).toMatchObject({ code: 0, stderr: '' })
  expect((await change('add', 'bash', 'npm test', 'allow')).stdout).toMatch(/already\.\n$/)
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ mode: 'ask', rules: [rule('bash npm test allow')] })
  expect((await change('add', 'bash', 'npm test', 'deny')).code).toBe(0)
  expect((await change('add', 'bash', 'npm test', 'ask')).stderr).toMatch(/never decides/)
  expect((await change('remove', 'bash', 'npm test', 'deny')).code).toBe(0)
  expect((await change('remove', 'bash', 'npm test', 'deny')).code).toBe(1)
  for (const wrong of [['add', 'bash'], ['add', 'bash', 'npm', 'test', 'allow'], ['add', 'bash', 'x', 'permit']]) {
    expect((await change(...wrong)).code).toBe(2)
  }
  writeFileSync(file(), '{ broken')
  expect((await change('add', 'bash', 'x', 'deny')).code).toBe(1)
  expect(readFileSync(file(), 'utf8')).toBe('{ broken')
})
