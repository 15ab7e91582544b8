import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type RuleAction } from '@bulkhead/contract'
import { locatedRules } from '@bulkhead/host'
import { visibleText } from '@bulkhead/kit/text'
import { homeFolder } from '../../facade/folders.ts'
import {
  forgetKept, LEARN_VARIABLE, readKept, readLearned, requireWorkWall, startLearning, type Learned, type LearnedCall,
} from '../../facade/policy/learning.ts'
import { learnedNeeds, proposeRules, type LearnedNeeds, type Proposal } from '../../facade/policy/proposal.ts'
import { ruleVariables } from '../../facade/loader-options.ts'
import { askedSession, decideAgain } from '../../facade/policy/recorded-decisions.ts'
import { defineCommand, ENDING_SIGNALS } from '../command.ts'
import { readIfPresent, userFile } from '../config-file.ts'
import { COMMON_OPTIONS, terminal, type HostValues } from '../host-options.ts'
import { inspect, type Inspection } from '../inspect.ts'
import { hint, printJson, table } from '../output.ts'
import { confirmed } from '../review.ts'
import { addRules, withRules } from './policy-edit.ts'

export const learn = defineCommand({
  usage: '[--] [COMMAND…]',
  operands: { COMMAND: { text: 'a program that opens hosts of this home, with its arguments, such as an agent' } },
  options: { yes: { type: 'boolean', short: 'y', text: 'write the proposal without a prompt' }, ...COMMON_OPTIONS },
  details: `Hosts that the command starts ask for no approval of the mode. They may use the workspace and run commands behind
the work wall, and have no network, no variables and no secrets; "learn": { "ceiling": … } of your configuration is another
ceiling. What rules deny or ask, watchdogs, guards and protected places hold. Calls are recorded in your home, and the record
is removed in the end. Then the smallest rules are shown under which these calls need no approval. They are written to your
configuration if you agree. With "mode": "learn" in your configuration all hosts of this home learn: then use it without a
COMMAND, in the folder where they worked. That record stays until its rules are written.`,
  exits: ['if the proposal was written, or nothing is missing', 'if it was not written, or the command failed'],
  examples: [
    { command: 'bulkhead learn -- node agent.js', text: 'what your agent needs' },
    { command: 'bulkhead learn --yes', text: 'what was recorded in this folder under the mode learn' },
  ],

  async run({ values, positionals: [program, ...args] }) {
    const home = homeFolder(values.home)
    await using found = await inspect(values)
    using learning = startLearning(home)
    const ran = program === undefined ? undefined : await recorded(found, program, args, learning)
    const { calls, uses } = ran ?? readKept(home, found.workspace)
    if (!ran && calls.length === 0) throw nothingKept(values, found.workspace)
    const here = calls.filter(({ workspace }) => workspace === found.workspace)
    const report = await review(values, found, here, calls.length - here.length, join(learning.folder, 'proposal.json'))
    const needs = learnedNeeds(here, uses, found.workspace)
    const rules = report.proposal.rules.map(({ rule }) => rule)
    if (!values.json) process.stdout.write(reportText(report, needs))
    const interactor = values.json ? undefined : terminal()
    const isAgreed = rules.length > 0 && (values.yes === true
      || (interactor !== undefined && await confirmed(interactor, `Add these rules to ${userFile(values)}?`)))
    const added = isAgreed ? addRules(userFile(values), rules) : []
    const isOver = rules.length === 0 || isAgreed
    if (!ran && isOver) forgetKept(home, found.workspace)
    const status = ran?.status ?? 0
    if (values.json) printJson({ ...report, needs, added, exitCode: status })
    else if (added.length > 0) process.stdout.write(visibleText(`Added ${countOf(added.length)} to ${userFile(values)}.`) + '\n')
    else if (rules.length > 0) process.stderr.write(hint('Nothing was written. To write the rules, agree or use --yes.\n'))
    if (!ran && isOver) process.stderr.write(hint('The record was removed.\n'))
    if (found.place.report.config.merged.mode === 'learn') process.stderr.write(hint('The mode is "learn": hosts of this home still ask nothing because of it.\n'))
    if (status !== 0) process.stderr.write(`Warning: the command ended with exit code ${status}.\n`)
    return (rules.length === 0 && status === 0) || added.length > 0 ? 0 : 1
  },
})

async function recorded(
  { place: { sandbox } }: Inspection, program: string, args: readonly string[], { id, folder }: ReturnType<typeof startLearning>,
): Promise<Learned & { readonly status: number }> {
  requireWorkWall(await sandbox.commandWalls?.())
  const status = await runLearning(program, args, id)
  return { ...readLearned(folder), status }
}

const nothingKept = (values: HostValues, workspace: string): BulkheadError => new BulkheadError('NotFound',
  `No calls were recorded in ${visibleText(workspace)}. Learn from a command: bulkhead learn -- COMMAND. Or set `
  + `"mode": "learn" in ${visibleText(userFile(values))} and let your agent work.`)

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

interface Otherwise extends Pick<LearnedCall, 'tool' | 'arguments'> {
  readonly today: RuleAction
  readonly after: RuleAction
}

interface Report {
  readonly calls: number
  readonly denied: readonly LearnedCall[]
  readonly elsewhere: number
  readonly proposal: Proposal
  /** How today's policy and the proposal decide the calls that ran. */
  readonly asksToday: number
  readonly asksThen: number
  /** The calls that the proposal decides otherwise. */
  readonly otherwise: readonly Otherwise[]
  /** Calls that were denied, and that the proposal would not deny. Always 0: otherwise the proposal is dropped. */
  readonly freed: number
}

/** Proposes rules, and decides the recorded calls under them. */
async function review(
  values: HostValues, found: Inspection, calls: readonly LearnedCall[], elsewhere: number, file: string,
): Promise<Report> {
  const { host, workspace, place: { report: { config } } } = found
  const strict = locatedRules(config, ruleVariables(workspace, values.home)).filter(({ action }) => action !== 'allow')
  // Under the mode learn, nothing of the mode would ask.
  const mode = config.merged.mode === 'learn' ? { mode: 'ask' } as const : {}
  const session = await askedSession(host, mode)
  const proposal = await proposeRules(session, calls, strict)
  const today = await decideAgain(session, calls)
  await session.close()
  writeFileSync(file, withRules(readIfPresent(userFile(values)), proposal.rules.map(({ rule }) => rule)), { mode: 0o600 })
  await using then = await inspect(values, realpathSync(file))
  const proposed = await askedSession(then.host, mode)
  const after = await decideAgain(proposed, calls)
  await proposed.close()
  const ran = (index: number): boolean => calls[index]!.decision === 'allow'
  const freed = after.filter(({ decision }, index) => today[index]!.decision === 'deny' && decision !== 'deny').length
  if (freed > 0) throw new BulkheadError('InternalError', `The proposal would free ${freed} calls that are denied. It was dropped.`)
  return {
    calls: calls.filter(({ decision }) => decision === 'allow').length, elsewhere, proposal, freed,
    denied: calls.filter(({ decision }) => decision === 'deny'),
    asksToday: today.filter(({ decision }, index) => ran(index) && decision === 'ask').length,
    otherwise: calls.flatMap(({ tool, arguments: args }, index) => {
      const [before, now] = [today[index]!.decision, after[index]!.decision]
      return before === now ? [] : [{ tool, arguments: args, today: before, after: now }]
    }),
    asksThen: after.filter(({ decision }, index) => ran(index) && decision === 'ask').length,
  }
}

const MOST_SHOWN = 20
const callText = ({ tool, arguments: args }: Pick<LearnedCall, 'tool' | 'arguments'>): string => `${tool} ${JSON.stringify(args).slice(0, 80)}`

const countOf = (count: number): string => count === 1 ? 'one rule' : `${count} rules`

function reportText(
  { calls, denied, elsewhere, proposal: { rules, left }, asksToday, asksThen, otherwise }: Report, needs: readonly LearnedNeeds[],
): string {
  const rows = rules.map(({ rule: { permission, pattern, action }, allows, calls: count, onlyThirdParty }) => [
    `${permission} ${pattern} ${action}`, allows, String(count), onlyThirdParty ? 'only third-party code asked for it' : '-',
  ])
  const lines = [
    `${calls === 1 ? 'One call' : `${calls} calls`} ran, ${denied.length} ${denied.length === 1 ? 'was' : 'were'} denied${elsewhere > 0 ? `, and ${elsewhere} were made in other folders` : ''}.`,
    rules.length === 0 ? 'No rule is missing: none of them would ask.'
      : `Today ${asksToday} of them would ask. With these rules, ${asksThen}:`,
  ]
  const more = [
    ...otherwise.slice(0, MOST_SHOWN).map(({ today, after: now, ...call }) =>
      `Decided otherwise: ${callText(call)}: ${today} today, ${now} with these rules`),
    ...(otherwise.length > MOST_SHOWN ? [`… and ${otherwise.length - MOST_SHOWN} more (--json has all)`] : []),
    ...denied.slice(0, MOST_SHOWN).map((call) => `Denied: ${callText(call)}, because ${call.reason}`),
    ...left.map(({ call, reason }) => `Not covered: ${callText(call)}, because ${reason}`),
    ...needs.flatMap(({ tool, requires, requests }) => [
      `${tool} used: ${JSON.stringify(requires)}`, ...requests.map((request) => `  ${request}`),
    ]),
  ]
  return [
    ...lines.map((line) => `${visibleText(line)}\n`), ...(rows.length === 0 ? [] : [table(['RULE', 'ALLOWS', 'CALLS', 'NOTE'], rows)]),
    ...more.map((line) => `${visibleText(line)}\n`),
  ].join('')
}
