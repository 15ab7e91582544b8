import { resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { BulkheadError } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import {
  askedSession, decideAgain, recordedDecisions, type NotReplayed, type RecordedDecision, type Redecided,
} from '../../facade/policy/recorded-decisions.ts'
import { defineSubcommand } from '../command.ts'
import { COMMON_OPTIONS, MODE_OPTION, STORE_OPTION } from '../host-options.ts'
import { inspect } from '../inspect.ts'
import { printJson, table } from '../output.ts'
import { withAudits } from './audits.ts'

/** More take too long to decide again. */
const MOST_CALLS = 1_000

export const replay = defineSubcommand({
  text: 'decide recorded calls again, under your policy or another one, and show which differ',
  options: {
    with: {
      type: 'string', value: 'FILE', completes: 'file', text: 'a configuration file in place of yours (default: your own)',
    },
    count: {
      type: 'string', value: 'N', whole: { least: 1, most: 100_000 }, text: `the latest N calls (default: ${MOST_CALLS})`,
    },
    ...MODE_OPTION, ...STORE_OPTION, ...COMMON_OPTIONS,
  },
  async run({ values }) {
    const { with: given, count = MOST_CALLS, mode, home, store, json } = values
    const file = given === undefined ? undefined : resolve(given)
    if (file !== undefined && !existsSync(file)) throw new BulkheadError('NotFound', `There is no file "${given}".`)
    await using found = await inspect(values, file)
    const { calls, left } = await withAudits({ home, ...(store !== undefined && { store }) }, undefined, (audits) =>
      recordedDecisions(audits, found.workspace, count))
    await using session = closing(await askedSession(found.host, mode ? { mode } : {}))
    const decided = await decideAgain(session, calls)
    const different = decided.filter(({ call, decision }) => call.decision !== decision)
    if (json) printJson({ decided: decided.length, different: different.map(differenceJson), notDecided: left })
    else process.stdout.write(replayText(decided.length, different, left))
    return different.length === 0 ? 0 : 1
  },
})

const closing = <Session extends { close(): Promise<void> }>(session: Session): Session & AsyncDisposable =>
  Object.assign(session, { [Symbol.asyncDispose]: () => session.close() })

type Difference = Redecided<RecordedDecision>

const differenceJson = ({ call, decision, reasons }: Difference): object => ({ ...call, recorded: call.decision, decision, reasons })

const REASONS: Readonly<Record<keyof NotReplayed, string>> = {
  withoutArguments: 'without arguments: set audit.arguments to true to record them',
  redacted: 'with arguments from which a secret was removed',
  ofTools: 'made by tools, whose power counts too',
  ofOtherSessions: 'of other folders, of agents, or of sessions whose beginning is not in the audit',
}

function replayText(count: number, different: readonly Difference[], left: NotReplayed): string {
  const rows = different.map(({ call, decision, reasons: [reason = ''] }) =>
    [call.at, call.tool, call.subject.slice(0, 60), call.decision, decision, reason])
  const summary = `${count} recorded ${count === 1 ? 'call was' : 'calls were'} decided again, ${different.length} of them differently.`
  const rest = Object.entries(REASONS).flatMap(([key, why]) => {
    const of = left[key as keyof NotReplayed]
    return of === 0 ? [] : [`Not decided again: ${of} ${why}.`]
  })
  return [
    ...(rows.length === 0 ? [] : [table(['AT', 'TOOL', 'WHAT', 'RECORDED', 'NOW', 'BECAUSE'], rows)]),
    ...[summary, ...rest].map((line) => `${visibleText(line)}\n`),
  ].join('')
}
