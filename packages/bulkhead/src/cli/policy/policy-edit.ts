import { actionWords, RULE_ACTIONS, type Rule, type RuleAction } from '@bulkhead/contract'
import { isJsonObject, parseJson, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { lintRules } from '@bulkhead/host'
import { editConfig } from '@bulkhead/loader'
import { ruleVariables } from '../../facade/loader-options.ts'
import { type CommandOptions, defineSubcommand, UsageError } from '../command.ts'
import { changeConfig, userFile } from '../config-file.ts'
import { PLACE_OPTIONS } from '../host-options.ts'
import { inspect } from '../inspect.ts'
import { hint, printJson } from '../output.ts'

const OPTIONS = {
  passkey: { type: 'boolean', text: 'with ask: only a passkey allows such calls, each one time' },
  ...PLACE_OPTIONS,
} as const satisfies CommandOptions

export const add = defineSubcommand({
  text: 'write a rule to your configuration file',
  usage: 'PERMISSION PATTERN ACTION',
  options: OPTIONS,
  async run({ values, positionals }) {
    const rule = readRule('add', positionals, values.passkey)
    const file = userFile(values)
    const added = addRules(file, [rule])
    if (values.json) printJson({ rule, file, added: added.length > 0 })
    else process.stdout.write(visibleText(added.length > 0 ? `Added ${textOf(rule)} to ${file}.` : `${textOf(rule)} is in ${file} already.`) + '\n')
    await using found = await inspect(values)
    const { host, workspace, place: { report: { config } } } = found
    const own = lintRules(config, host.tools(), ruleVariables(workspace, values.home)).filter((finding) =>
      finding.rule.author === 'user' && isSame(finding.rule, rule))
    process.stderr.write(own.map(({ message }) => hint(`${visibleText(message)}\n`)).join(''))
    return 0
  },
})

export const remove = defineSubcommand({
  text: 'remove a rule from your configuration file',
  usage: 'PERMISSION PATTERN ACTION',
  options: OPTIONS,
  async run({ values, positionals }) {
    const rule = readRule('remove', positionals, values.passkey)
    const file = userFile(values)
    let removed = 0
    changeRules(file, (rules) => {
      const kept = rules.filter((one) => !isSame(one, rule))
      removed = rules.length - kept.length
      return kept
    })
    if (values.json) printJson({ rule, file, removed: removed > 0 })
    else process.stdout.write(visibleText(removed > 0 ? `Removed ${textOf(rule)} from ${file}.` : `${textOf(rule)} is not in ${file}.`) + '\n')
    return removed > 0 ? 0 : 1
  },
})

function readRule(act: string, [permission, pattern, action, ...more]: readonly string[], passkey = false): Rule {
  const use = `Use: bulkhead policy ${act} PERMISSION PATTERN ACTION.`
  if (permission === undefined || pattern === undefined || action === undefined) throw new UsageError(`Missing argument. ${use}`)
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Put quotes around a pattern with spaces.`)
  if (!RULE_ACTIONS.includes(action as RuleAction)) {
    throw new UsageError(`"${action}" is not an action. It must be ${RULE_ACTIONS.join(', ')}.`)
  }
  if (passkey && action !== 'ask') throw new UsageError('--passkey is for the action ask.')
  return { permission, pattern, action: action as RuleAction, ...(passkey && { passkey }) }
}

/** Adds rules that are not there yet, and returns them. Throws ConfigInvalid. */
export function addRules(file: string, rules: readonly Rule[]): readonly Rule[] {
  let added: readonly Rule[] = []
  changeRules(file, (written) => {
    added = rules.filter((rule) => !written.some((one) => isSame(one, rule)))
    return [...written, ...added.map((rule): Json => ({ ...rule }))]
  })
  return added
}

/** The text of a configuration file with further rules. Throws ConfigInvalid. */
export const withRules = (written: Uint8Array | undefined, rules: readonly Rule[]): string =>
  editedRules(written, (before) => [...before, ...rules.map((rule): Json => ({ ...rule }))])

const changeRules = (file: string, change: (rules: readonly Json[]) => readonly Json[]): void =>
  changeConfig(file, (written) => editedRules(written, change))

/** What cannot be parsed, `editConfig` refuses. */
function editedRules(written: Uint8Array | undefined, change: (rules: readonly Json[]) => readonly Json[]): string {
  const parsed = parseJson(written === undefined ? '{}' : Buffer.from(written).toString())
  const rules = parsed.ok && isJsonObject(parsed.value) ? parsed.value['rules'] : undefined
  return editConfig(written, ['rules'], change(Array.isArray(rules) ? rules : []) as Json)
}

/** A pattern can be left out. */
function isSame(written: Json | Rule, rule: Rule): boolean {
  if (!isJsonObject(written as Json)) return false
  const { permission, pattern = '*', action, passkey } = written as Partial<Rule>
  return permission === rule.permission && pattern === rule.pattern && action === rule.action && passkey === rule.passkey
}

const textOf = (rule: Rule): string => `"${rule.permission} ${rule.pattern} ${actionWords(rule)}"`
