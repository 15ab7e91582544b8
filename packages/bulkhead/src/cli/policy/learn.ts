import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type VariableValues } from '@bulkhead/contract'
import { locatedRules } from '@bulkhead/host'
import { visibleText } from '@bulkhead/kit/text'
import { homeFolder } from '../../facade/folders.ts'
import { LEARN_VARIABLE, readLearned, startLearning, type LearnedCall } from '../../facade/policy/learning.ts'
import { learnedNeeds, proposeRules, type LearnedNeeds, type Proposal } from '../../facade/policy/proposal.ts'
import { askedSession, decideAgain } from '../../facade/policy/recorded-decisions.ts'
import { defineCommand, ENDING_SIGNALS, UsageError } from '../command.ts'
import { readIfPresent, userFile } from '../config-file.ts'
import { COMMON_OPTIONS, terminal, type HostValues } from '../host-options.ts'
import { inspect, type Inspection } from '../inspect.ts'
import { hint, printJson, table } from '../output.ts'
import { confirmed } from '../review.ts'
import { addRules, withRules } from './policy-edit.ts'

export const learn = defineCommand({
  usage: '[--] COMMAND…',
  operands: { COMMAND: { text: 'a program that opens hosts of this home, with its arguments, such as an agent' } },
  options: { yes: { type: 'boolean', short: 'y', text: 'write the proposal without a prompt' }, ...COMMON_OPTIONS },
  details: `Hosts that the command starts ask for no approval of the mode. They may use the workspace and run commands behind
the work wall, and have no network, no variables and no secrets. What rules deny or ask, watchdogs, guards and protected
places hold. Calls are recorded in your home, and the record is removed in the end. Then the smallest rules are shown under
which these calls need no approval. They are written to your configuration if you agree.`,
  exits: ['if the proposal was written, or nothing is missing', 'if it was not written, or the command failed'],
  examples: [{ command: 'bulkhead learn -- node agent.js', text: 'what your agent needs' }],

  async run({ values, positionals: [program, ...args] }) {
    if (program === undefined) throw new UsageError('Missing command. Use: bulkhead learn -- COMMAND.')
    await using found = await inspect(values)
    await requireWall(found)
    using learning = startLearning(homeFolder(values.home))
    const status = await runLearning(program, args, learning.id)
    const { calls, uses } = readLearned(learning.folder)
    const here = calls.filter(({ workspace }) => workspace === found.workspace)
    const report = await review(values, found, here, calls.length - here.length, join(learning.folder, 'proposal.json'))
    const needs = learnedNeeds(here, uses, found.workspace)
    const rules = report.proposal.rules.map(({ rule }) => rule)
    if (!values.json) process.stdout.write(reportText(report, needs))
    const interactor = values.json ? undefined : terminal()
    const isAgreed = rules.length > 0 && (values.yes === true
      || (interactor !== undefined && await confirmed(interactor, `Add these rules to ${userFile(values)}?`)))
    const added = isAgreed ? addRules(userFile(values), rules) : []
    if (values.json) printJson({ ...report, needs, added, exitCode: status })
    else if (added.length > 0) process.stdout.write(visibleText(`Added ${countOf(added.length)} to ${userFile(values)}.`) + '\n')
    else if (rules.length > 0) process.stderr.write(hint('Nothing was written. To write the rules, agree or use --yes.\n'))
    if (status !== 0) process.stderr.write(`Warning: the command ended with exit code ${status}.\n`)
    return (rules.length === 0 && status === 0) || added.length > 0 ? 0 : 1
  },
})

/** Without it, commands would run with all that you can do, and unasked. */
async function requireWall({ place: { sandbox } }: Inspection): Promise<void> {
  const walls = await sandbox.commandWalls?.()
  if (walls?.work) return
  const why = 'No work wall stands around commands on this machine, so calls cannot run unasked.'
  throw new BulkheadError('CapabilityUnavailable', `${why} "bulkhead doctor" says what is missing.`)
}

/** Runs the command to its end. Signals reach it from the terminal. */
async function runLearning(program: string, args: readonly string[], id: string): Promise<number> {
  const ignore = (): void => undefined
  for (const signal of ENDING_SIGNALS) process.on(signal, ignore)
  try {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, [LEARN_VARIABLE]: id } })
    const [code] = await once(child, 'exit') as [number | null]
    return code ?? 1
  } catch (error) {
    throw new BulkheadError('NotFound', `"${visibleText(program)}" cannot be started.`, { cause: error })
  } finally {
    for (const signal of ENDING_SIGNALS) process.off(signal, ignore)
  }
}

interface Report {
  readonly calls: number
  readonly denied: readonly LearnedCall[]
  readonly elsewhere: number
  readonly proposal: Proposal
  /** How today's policy and the proposal decide the calls that ran. */
  readonly asksToday: number
  readonly asksThen: number
  /** Calls that were denied, and that the proposal would not deny. Always 0: otherwise the proposal is dropped. */
  readonly freed: number
}

/** Proposes rules, and decides the recorded calls under them. */
async function review(
  values: HostValues, found: Inspection, calls: readonly LearnedCall[], elsewhere: number, file: string,
): Promise<Report> {
  const { host, workspace, place: { report: { config } } } = found
  const variables: VariableValues = { workspace: [workspace] }
  const strict = locatedRules(config, variables).filter(({ action }) => action !== 'allow')
  const session = await askedSession(host)
  const proposal = await proposeRules(session, calls, strict)
  const today = await decideAgain(session, calls)
  await session.close()
  writeFileSync(file, withRules(readIfPresent(userFile(values)), proposal.rules.map(({ rule }) => rule)), { mode: 0o600 })
  await using then = await inspect(values, realpathSync(file))
  const proposed = await askedSession(then.host)
  const after = await decideAgain(proposed, calls)
  await proposed.close()
  const ran = (index: number): boolean => calls[index]!.decision === 'allow'
  const freed = after.filter(({ decision }, index) => today[index]!.decision === 'deny' && decision !== 'deny').length
  if (freed > 0) throw new BulkheadError('InternalError', `The proposal would free ${freed} calls that are denied. It was dropped.`)
  return {
    calls: calls.filter(({ decision }) => decision === 'allow').length, elsewhere, proposal, freed,
    denied: calls.filter(({ decision }) => decision === 'deny'),
    asksToday: today.filter(({ decision }, index) => ran(index) && decision === 'ask').length,
    asksThen: after.filter(({ decision }, index) => ran(index) && decision === 'ask').length,
  }
}

const MOST_SHOWN = 20
const callText = ({ tool, arguments: args }: LearnedCall): string => `${tool} ${JSON.stringify(args).slice(0, 80)}`

const countOf = (count: number): string => count === 1 ? 'one rule' : `${count} rules`

function reportText(
  { calls, denied, elsewhere, proposal: { rules, left }, asksToday, asksThen }: Report, needs: readonly LearnedNeeds[],
): string {
  const rows = rules.map(({ rule: { permission, pattern, action }, calls: count, onlyThirdParty }) =>
    [`${permission} ${pattern} ${action}`, String(count), onlyThirdParty ? 'only third-party code asked for it' : '-'])
  const lines = [
    `${calls} calls ran, ${denied.length} were denied${elsewhere > 0 ? `, and ${elsewhere} were made in other folders` : ''}.`,
    rules.length === 0 ? 'No rule is missing: none of them would ask.'
      : `Today ${asksToday} of them would ask. With these rules, ${asksThen}:`,
  ]
  const more = [
    ...denied.slice(0, MOST_SHOWN).map((call) => `Denied: ${callText(call)}, because ${call.reason}`),
    ...left.map(({ call, reason }) => `Not covered: ${callText(call)}, because ${reason}`),
    ...needs.flatMap(({ tool, requires, requests }) => [
      `${tool} used: ${JSON.stringify(requires)}`, ...requests.map((request) => `  ${request}`),
    ]),
  ]
  return [
    ...lines.map((line) => `${visibleText(line)}\n`), ...(rows.length === 0 ? [] : [table(['RULE', 'CALLS', 'NOTE'], rows)]),
    ...more.map((line) => `${visibleText(line)}\n`),
  ].join('')
}
