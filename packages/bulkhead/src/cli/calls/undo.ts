import { realpath } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { BulkheadError, type Outcome, type UndoReport } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { localTime, localZone } from '@bulkhead/kit/times'
import type { Host } from '../../facade/create-host.ts'
import { accountName } from '../../facade/folders.ts'
import { type CommandOptions, defineCommand, UsageError, type ValuesOf } from '../command.ts'
import { COMMON_OPTIONS, openHost, STORE_OPTION, withStore } from '../host-options.ts'
import { hint, printJson, table } from '../output.ts'
import { printOutcome } from '../print-outcome.ts'
import { readWhen, WHEN } from '../read-when.ts'
import {
  changedCalls, isUndoable, LAST, lastCall, readTarget, shortTarget, targetOf, type ChangedCall, type UndoTarget,
} from './undo-target.ts'

/** Older calls are listed with --all. */
const MOST_LISTED = 30
const MOST_FILES = 3
/** In place of a call. */
const ALL = 'all'

const UNDO_OPTIONS = {
  'dry-run': { type: 'boolean', text: 'change nothing; print the diff' },
  'force': { type: 'boolean', text: 'undo even if later changes are lost, and leave out what cannot be put back' },
  'all': { type: 'boolean', text: `list all calls (default: the last ${MOST_LISTED})` },
  'since': { type: 'string', value: 'WHEN', text: `only calls from this time on: ${WHEN}` },
  ...STORE_OPTION,
  ...COMMON_OPTIONS,
} as const satisfies CommandOptions

export const undo = defineCommand({
  usage: '[--all | --since | (last | all --since | CALL | SESSION:TURN | SESSION) [--dry-run] [--force]]',
  operands: {
    'last': { text: 'the last call of the list that is not undone yet', values: [LAST] },
    'all': { text: 'every call since that time, the latest first', values: [ALL] },
    'CALL': { text: 'call from the list, such as 1f0c2a7e/call_4, or its id alone if only one session has it' },
    'SESSION:TURN': { text: 'all calls of a turn, such as 1f0c2a7e:3' },
    'SESSION': { text: 'all calls of a session; the first four characters of its id are enough' },
  },
  options: UNDO_OPTIONS,
  details: `Without an argument, lists the calls that changed files in this folder. An undo puts back all files or none. It is
refused if a file was changed since, and names it. An undo is in the list too, and can be undone. What a command changed
is put back too, unless the question said that it is not recorded.`,
  exits: ['on success', 'if something would be lost, or if there is no such call'],
  examples: [
    { command: 'bulkhead undo', text: 'what tools changed here, the latest first' },
    { command: 'bulkhead undo last', text: 'put back what the last call changed' },
    { command: 'bulkhead undo --since 9:00', text: 'what tools changed here since nine' },
    { command: 'bulkhead undo all --since 9:00', text: 'put all of that back' },
    { command: 'bulkhead undo 1f0c2a7e --dry-run', text: 'what undoing a session would change' },
  ],

  async run({ values, positionals: [target, ...more] }) {
    if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Name one call, turn or session.`)
    const since = readWhen('since', values.since)
    if (target === ALL && since === undefined) throw new UsageError('Say since when: bulkhead undo all --since WHEN.')
    if (target !== ALL && target !== undefined && since !== undefined) {
      throw new UsageError('--since is for the list and for "all".')
    }
    const workspace = await realpath(values.workspace ?? '.').catch(() => resolve(values.workspace ?? '.'))
    const calls = (await withStore(values, 'record of changes', async ({ changes }) =>
      changedCalls(await changes?.list({ workspace }) ?? []))).filter(({ at }) => since === undefined || at >= since)
    if (target === undefined) {
      if (values['dry-run'] || values.force) throw new UsageError('Name what to undo: a call, a turn or a session.')
      const shown = values.all || since !== undefined ? calls : calls.slice(0, MOST_LISTED)
      if (values.json) printJson(shown)
      else process.stdout.write(callTable(shown, workspace, calls.length - shown.length))
      return 0
    }
    if (values.all) throw new UsageError('--all is for the list.')
    if (target === ALL) return undoAll(calls.filter(isUndoable), values, workspace)
    const last = target === LAST ? lastCall(calls) : undefined
    if (last) process.stderr.write(hint(visibleText(`Undo of ${shortTarget(last)}, a call of ${last.tool}.`) + '\n'))
    const meant = last ? targetOf(last) : readTarget(target, calls)
    await using host = await undoingHost(values)
    const outcome = await undoTarget(host, meant, values)
    if (values.json || outcome.type === 'error') printOutcome(outcome, values.json === true)
    else process.stdout.write(reportText(outcome.data as unknown as UndoReport))
    return outcome.type === 'output' ? 0 : 1
  },
})

type UndoValues = ValuesOf<typeof UNDO_OPTIONS>

/** `calls`: latest first. Each is undone by itself, so those before a refusal stay undone. */
async function undoAll(calls: readonly ChangedCall[], values: UndoValues, workspace: string): Promise<number> {
  const json = values.json === true
  if (calls.length === 0 || values['dry-run']) {
    if (json) printJson(calls)
    else process.stdout.write(calls.length === 0 ? 'There is nothing to put back.\n' : callTable(calls, workspace, 0))
    return 0
  }
  await using host = await undoingHost(values)
  const outcomes: Outcome[] = []
  for (const call of calls) {
    const outcome = await undoTarget(host, targetOf(call), values)
    outcomes.push(outcome)
    if (outcome.type === 'error') {
      if (!json) printOutcome(outcome, false)
      process.stderr.write(visibleText(`Stopped at ${shortTarget(call)}: ${outcomes.length - 1} of ${calls.length} calls are undone.`) + '\n')
      break
    }
    if (!json) process.stdout.write(reportText(outcome.data as unknown as UndoReport))
  }
  if (json) printJson(outcomes)
  return outcomes.at(-1)?.type === 'error' ? 1 : 0
}

async function undoingHost(values: UndoValues): Promise<Host & AsyncDisposable> {
  const host = await openHost(values, true)
  if (host.tool('undo') !== undefined) return host
  await host.close()
  throw new BulkheadError('ToolNotRegistered', 'The tool "undo" is disabled in the configuration. Enable it first.')
}

/** Calls the tool `undo` in a session that continues the other one. The person has asked for it, so it is approved. */
async function undoTarget(
  host: Pick<Host, 'openSession'>, { session: continues, selection }: UndoTarget, values: UndoValues,
): Promise<Outcome> {
  const by = `${accountName()} with bulkhead undo`
  const session = await host.openSession({ continues, approver: { approve: async () => ({ decision: 'once', by }) } })
  return await session.call({
    id: 'undo', name: 'undo',
    arguments: { ...selection, dry_run: values['dry-run'] === true, force: values.force === true },
  })
}

function callTable(calls: readonly ChangedCall[], workspace: string, hidden: number): string {
  if (calls.length === 0) return 'No call has changed a file here.\n'
  const rows = calls.map((call) => [
    shortTarget(call), call.turn === 0 ? '-' : String(call.turn), localTime(new Date(call.at)), call.tool,
    call.state, changesText(call, workspace),
  ])
  const rest = hidden > 0 ? `${hidden} earlier calls are not shown. Use --all to list them.\n` : ''
  return table(['CALL', 'TURN', `TIME (${localZone(new Date())})`, 'TOOL', 'STATE', 'CHANGED'], rows)
    + hint(`${rest}To look first: bulkhead undo CALL --dry-run\n`)
}

function changesText({ files, commands }: ChangedCall, workspace: string): string {
  const names = files.slice(0, MOST_FILES).map((file) => relative(workspace, file))
  const more = files.length > MOST_FILES ? [`${files.length - MOST_FILES} more files`] : []
  return [...names, ...more, ...commands.map((command) => `command: ${command.slice(0, 80)}`)].join(', ') || '-'
}

const DONE = { restore: 'restored', remove: 'removed', recreate: 'created again' } as const

function reportText(report: UndoReport): string {
  const { applied, alreadyUndone, files, lost, commands, reverts, diff, notEmpty = [], failed = [] } = report
  const isIdle = files.length === 0 && reverts.length === 0
  const lines = [
    ...(applied ? files.map(({ path, action }) => `${DONE[action]} ${path}`) : []),
    ...(isIdle ? [alreadyUndone ? 'It is already undone.' : 'There is nothing to put back.'] : []),
    ...lost.map(({ path, reason }) => {
      const isChanged = files.some((file) => file.path === path)
      const what = isChanged ? applied ? 'lost' : 'would be lost' : applied ? 'not put back' : 'cannot be put back'
      return `${what}: ${path}: ${reason}`
    }),
    ...notEmpty.map((path) => `not removed, because it is not empty: ${path}`),
    ...reverts.map(({ call, tool }) => `${applied ? 'reverted' : 'would revert'}: ${tool} in call ${call}`),
    ...failed.map(({ call, tool, message }) => `not reverted: ${tool} in call ${call}: ${message}`),
    ...commands.map(({ call, command }) => `not undoable: the command "${command}" in call ${call}`),
  ]
  return visibleText([diff ?? '', ...lines.map((line) => `${line}\n`)].join(''), { keepLines: true })
}
