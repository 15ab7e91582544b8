import { open } from 'node:fs/promises'
import { actionWords, BulkheadError, rulePlace } from '@bulkhead/contract'
import { configuredRules, type RuleFinding } from '@bulkhead/host'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { MAX_TEST_BYTES, readPolicyTest, runPolicyTest, type PolicyTestResult } from '../../facade/policy/policy-tests.ts'
import { ruleFindings } from '../../facade/policy/rule-findings.ts'
import { ruleVariables } from '../../facade/loader-options.ts'
import { callText, ruleProofs, ruleText, type RuleProof } from '../../facade/policy/rule-proofs.ts'
import { type Command, defineSubcommand, UsageError } from '../command.ts'
import { COMMON_OPTIONS, PLACE_OPTIONS } from '../host-options.ts'
import { inspect } from '../inspect.ts'
import { printJson, table } from '../output.ts'
import { add, remove } from './policy-edit.ts'
import { replay } from './policy-replay.ts'

const check = defineSubcommand({
  text: 'show for each rule one call that it decides',
  options: PLACE_OPTIONS,
  async run({ values }) {
    await using found = await inspect(values)
    const rules = await ruleProofs(found.host, found.place.report.config)
    if (values.json) printJson({ rules })
    else process.stdout.write(rules.length === 0 ? NO_RULES : proofTable(rules))
    return rules.some(({ call }) => call === null) ? 1 : 0
  },
})

const lint = defineSubcommand({
  text: 'find rules that cannot win, contradict another, are too wide or decide nothing',
  options: PLACE_OPTIONS,
  async run({ values }) {
    await using found = await inspect(values)
    const { host, workspace, place: { report: { config } } } = found
    const findings = await ruleFindings(host, config, ruleVariables(workspace, values.home))
    const count = configuredRules(config).length
    if (values.json) printJson({ rules: count, findings })
    else process.stdout.write(findings.length === 0 ? noFindings(count) : findings.map(findingText).join('\n'))
    return findings.some(({ severity }) => severity === 'problem') ? 1 : 0
  },
})

const test = defineSubcommand({
  text: 'compare what your policy decides about calls with what a file expects',
  usage: 'FILE',
  options: COMMON_OPTIONS,
  async run({ values, positionals: [file, ...more] }) {
    if (file === undefined) throw new UsageError('Missing file. Use: bulkhead policy test FILE.')
    if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Name one file.`)
    const tests = await readPolicyTest(await readShort(file), file)
    await using found = await inspect(values)
    const results = await runPolicyTest(found.host, tests)
    const failed = results.filter(({ ok }) => !ok)
    if (values.json) printJson({ ok: failed.length === 0, tests: results.map(testJson) })
    else process.stdout.write(testTable(results, failed))
    return failed.length === 0 ? 0 : 1
  },
})

export const policy: Command = {
  subcommands: { check, lint, test, replay, add, remove },
  operands: {
    FILE: { text: 'calls and what is expected of them, in YAML or JSON', completes: 'file' },
    PERMISSION: { text: 'a tool, a capability such as fs.write, or *' },
    PATTERN: { text: 'a path, a host, a command or an approval key' },
    ACTION: { text: 'what happens to matching calls', values: ['allow', 'ask', 'deny'] },
  },
  details: `Calls are explained as "bulkhead explain" does. Nothing runs, and no one is asked. "check" makes up calls from the
pattern of each rule. "test" uses your configuration, and that of the project if it is trusted.`,
  exits: [
    'if every rule decides a call, nothing is wrong, or every call is decided as expected',
    'if a rule decides none of the calls that were tried, something is wrong, or a call is decided otherwise',
  ],
  examples: [
    { command: 'bulkhead policy check', text: 'what your rules do' },
    { command: 'bulkhead policy lint', text: 'what is wrong with them' },
    { command: 'bulkhead policy test policy-tests.yaml', text: 'whether they decide as you expect, for CI' },
    { command: 'bulkhead policy replay --with other-config.json', text: 'what another policy would decide about recorded calls' },
    { command: `bulkhead policy add bash 'npm test' allow`, text: 'write a rule to your configuration' },
    { command: `bulkhead policy add bash 'git push *' ask --passkey`, text: 'let nothing but a passkey allow it' },
  ],
}

const NO_RULES = 'There are no rules.\n'
const noFindings = (count: number): string =>
  count === 0 ? NO_RULES : `Nothing is wrong with ${count === 1 ? 'the rule' : `the ${count} rules`}.\n`

const proofTable = (rules: readonly RuleProof[]): string => table(
  ['AUTHOR', 'RULE', 'DECIDES', 'WRITTEN IN'],
  rules.map((rule) => [rule.author, ruleText(rule), callText(rule), rulePlace(rule)]),
)

function findingText({ kind, severity, rule, message, cure }: RuleFinding): string {
  const { permission, pattern, author } = rule
  return [
    `${severity === 'note' ? 'note: ' : ''}${kind}: ${permission} ${pattern} ${actionWords(rule)}  (${author}, ${rulePlace(rule)})`,
    `  ${message}`, `  ${cure}`, '',
  ].map((line) => visibleText(line)).join('\n')
}

const callOf = ({ case: { call, arguments: args = {} } }: PolicyTestResult): string => `${call} ${JSON.stringify(args)}`

const testJson = ({ case: one, decision, ok, reasons }: PolicyTestResult): object => ({ ...one, decision, ok, reasons })

function testTable(results: readonly PolicyTestResult[], failed: readonly PolicyTestResult[]): string {
  const rows = results.map((result) => [
    result.ok ? 'ok' : 'FAILED', result.case.expect, result.decision, result.case.name ?? callOf(result),
  ])
  const details = failed.flatMap((result) => {
    const { case: { name, expect, rule }, decision, reasons, explanation: { remedies } } = result
    const isOther = decision === expect
    const cures = expect === 'allow' ? remedies.map((remedy) => `  - ${remedy}`) : []
    return [
      `${name === undefined ? '' : `${name}: `}${callOf(result)}`,
      isOther ? `  expected ${expect} by the rule "${rule}", but another decides` : `  expected ${expect}, got ${decision}`,
      ...reasons.map((reason) => `  because ${reason}`), ...cures,
    ].map((line) => visibleText(line))
  })
  const summary = failed.length === 0 ? `All ${results.length} calls are decided as expected.`
    : `${failed.length} of ${results.length} calls are decided otherwise.`
  return [
    table(['RESULT', 'EXPECTED', 'DECIDED', 'CALL'], rows), ...(details.length > 0 ? [details.join('\n'), '\n'] : []), `${summary}\n`,
  ].join('\n').replace(/\n{3,}/g, '\n\n')
}

/** Rejects with NotFound. */
async function readShort(file: string): Promise<string> {
  try {
    await using opened = await open(file)
    const { size } = await opened.stat()
    if (size > MAX_TEST_BYTES) throw new Error(`it has more than ${MAX_TEST_BYTES} bytes`)
    return await opened.readFile('utf8')
  } catch (error) {
    throw new BulkheadError('NotFound', `"${file}" cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}
