import type { Outcome } from '@bulkhead/contract'
import { openRecordings, type RecordedCall, type Recording, type SessionOptions } from '@bulkhead/host'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { localTime } from '@bulkhead/kit/times'
import type { Host } from '../../facade/create-host.ts'
import { inspectable } from '../../facade/inspectable.ts'
import { replaySession, type ReplayDifference, type ReplayOptions, type ReplayReport } from '../../facade/replay/replay-session.ts'
import { defineCommand, UsageError, type CommandOptions, type ValuesOf } from '../command.ts'
import { COMMON_OPTIONS, MODE_OPTION, openHost, STORE_OPTION, terminal, withStore } from '../host-options.ts'
import { inspect } from '../inspect.ts'
import { hint, printJson, table } from '../output.ts'

const REPLAY_OPTIONS = {
  stubs: { type: 'boolean', text: 'make the calls again under today\'s policy; the record answers in place of the tools' },
  from: { type: 'string', value: 'CALL', text: 'the recorded call from which on tools run; needs --live' },
  live: { type: 'boolean', text: 'run the tools, with all effects, and ask as usual; needs --from' },
  ...MODE_OPTION, ...STORE_OPTION, ...COMMON_OPTIONS,
} as const satisfies CommandOptions

export const replay = defineCommand({
  usage: 'SESSION [--stubs | --from --live]',
  operands: { SESSION: { text: 'a recorded session; the first four characters of its id are enough. last: the latest' } },
  options: REPLAY_OPTIONS,
  details: `Shows a session that was recorded ("record": true in your configuration). With --stubs and --from, its calls are made
again, in its folder unless --workspace names another, until one is different: the tool is gone or refuses the arguments,
the policy decides otherwise, or something else came of it. With --stubs nothing runs, and no one is asked. Calls of tools
and programs belong to the call that makes them, and are only shown.`,
  exits: ['if nothing is different', 'if a call is different, or the session is not recorded'],
  examples: [
    { command: 'bulkhead replay 1f0c2a7e', text: 'what happened in one' },
    { command: 'bulkhead replay 1f0c2a7e --stubs', text: 'what would be decided otherwise today, for CI' },
    { command: 'bulkhead replay 1f0c2a7e --from call_4 --live', text: 'run it again from a call on' },
  ],

  async run({ values, positionals: [id, ...more] }) {
    if (id === undefined) throw new UsageError('Missing session. "bulkhead record list" lists those that are recorded.')
    if (more.length > 0) throw new UsageError(`Unexpected argument "${more.join(' ')}". Name one session.`)
    const { stubs, from, live, json, home, store } = values
    if (stubs && (live || from !== undefined)) throw new UsageError('--stubs and --live cannot be used together.')
    if ((from !== undefined) !== (live === true)) {
      throw new UsageError('--from CALL --live belong together: tools run again from that call on.')
    }
    const recording = await withStore({ home, store }, 'recording', (opened) => readRecording(opened, id))
    if (!stubs && from === undefined) {
      if (json) printJson(recording)
      else process.stdout.write(recordingText(recording))
      return 0
    }
    const report = await makeAgain(recording, values)
    if (json) printJson(report)
    else process.stdout.write(reportText(report))
    return report.difference === undefined ? 0 : 1
  },
})

/** The name of the latest session in place of its id. */
const LAST = 'last'

async function readRecording(store: Parameters<typeof openRecordings>[0], id: string): Promise<Recording> {
  const book = openRecordings(store)
  return book.read(id === LAST ? (await book.list()).find(({ parentId }) => parentId === undefined)?.id ?? id : id)
}

/** In the folder of the session. Without calls that run, nothing starts and no store is opened. */
async function makeAgain(
  recording: Recording, { from, mode, stubs: _, live: __, ...values }: ValuesOf<typeof REPLAY_OPTIONS>,
): Promise<ReplayReport> {
  const there = { ...values, workspace: values.workspace ?? recording.workspace }
  const interactor = from === undefined ? undefined : terminal()
  const options: ReplayOptions = {
    ...(from !== undefined && { from }),
    session: {
      ...(mode && { mode }), ...(interactor && { interactor }),
      ...(recording.principal !== undefined && { principal: { id: recording.principal } }),
    },
  }
  if (from === undefined) {
    await using found = await inspect(there)
    return await replaySession(onHost(found.host), recording, options)
  }
  await using host: Host & AsyncDisposable = await openHost(there, true)
  return await replaySession(onHost(host), recording, options)
}

const onHost = (host: Host) => ({ core: inspectable.get(host)!.core, openSession: (session: SessionOptions) => host.openSession(session) })

const MOST_CHARS = 60
const short = (value: Json | undefined): string => {
  if (value === undefined) return '(too long to keep)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
}

/** An output, or the code of an error. */
function outcomeText({ outcome: { value } }: RecordedCall): string {
  if (!isJsonObject(value as Json)) return short(value)
  const outcome = value as unknown as Outcome
  return outcome.type === 'output' ? short(outcome.data) : `${outcome.error.code}: ${short(outcome.error_text)}`
}

function recordingText({ id, workspace, recorded, missing, code }: Recording): string {
  const rows = recorded.map((call) => [
    localTime(new Date(call.at)), call.parentCallId === undefined ? call.id : `  ${call.id}`, call.tool, call.decision ?? 'refused',
    short(call.arguments.value), outcomeText(call),
  ])
  const more = [
    ...(missing > 0 ? [`${missing} calls could not be recorded.`] : []),
    ...(code.length > 0 ? [`The session had ${code.join(' and ')}, which are code and are not recorded.`] : []),
  ]
  return [
    visibleText(`Session ${id} in ${workspace}`), '\n', table(['AT', 'CALL', 'TOOL', 'POLICY', 'ARGUMENTS', 'OUTCOME'], rows),
    ...more.map((line) => `${line}\n`), hint(`To make its calls again: bulkhead replay ${id} --stubs\n`),
  ].join('')
}

const countOf = (count: number): string => count === 1 ? 'One call' : `${count} calls`

function reportText({ answered, ran, leftOut, without, difference }: ReplayReport): string {
  const lines = [
    ...(difference ? differenceLines(difference) : ['Nothing is different.']),
    ...(answered > 0 ? [`${countOf(answered)} answered from the record.`] : []), ...(ran > 0 ? [`${countOf(ran)} ran.`] : []),
    ...(leftOut.length > 0 ? [`Left out, because not all of their arguments are kept: ${leftOut.join(', ')}.`] : []),
    ...(without.length > 0 ? [`Decided without ${without.join(' and ')} of the session, which are code.`] : []),
  ]
  return lines.map((line) => `${visibleText(line)}\n`).join('')
}

const IS_DIFFERENT: Readonly<Record<ReplayDifference['what'], string>> = {
  tool: 'cannot be called any more', arguments: 'has arguments that are refused now', decision: 'is decided otherwise',
  outcome: 'ended otherwise',
}

const differenceLines = ({ call, tool, what, path, recorded, now, reason }: ReplayDifference): readonly string[] => [
  `Different: ${call}, a call of ${tool}, ${IS_DIFFERENT[what]}.`,
  `  recorded${path === '' ? '' : ` at ${path}`}: ${recorded === undefined ? 'nothing' : short(recorded)}`,
  `  now: ${now === undefined ? 'nothing' : short(now)}`, ...(reason === undefined ? [] : [`  because ${reason}`]),
]
