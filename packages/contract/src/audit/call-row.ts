import type { JsonObject } from '@bulkhead/kit/json'
import type { OutcomeOrigin } from '../model/outcome.ts'
import {
  isDecision, isEnd, numberIn, originIn, textIn, timeOf, typeOf, type PlacedRecord,
} from './records.ts'

/** Why a call, or something that it uses, was allowed or denied. */
export interface CallDecision {
  readonly decision: 'allow' | 'deny'
  readonly stage: string
  /** The rule with its file, the mode, the guard or the person. */
  readonly source: string
  readonly reason: string
}

/** `open`: the audit has no end of it: it runs, or its host ended and no other has settled it yet. */
export type CallState = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'denied'

/** What the audit says about one call, in short. Texts are of tools, models and people: show them as visible text. */
export interface CallRow {
  readonly kind: 'call'
  /** ISO 8601: when it was decided. If it never was: when it ended. */
  readonly at: string
  /** Whose audit it is in. '' if the store has only one. */
  readonly host: string
  /** Of the record of its decision. If it never was decided: of its end. */
  readonly position: number
  readonly session: string
  readonly call: string
  readonly principal?: string
  readonly tool: string
  /** null if no tool has that name. */
  readonly origin: OutcomeOrigin | null
  /** What it was for: the command, the file or the host. '' if it was never decided. */
  readonly subject: string
  readonly state: CallState
  /** Absent if it ended before it was decided. */
  readonly decision?: CallDecision
  readonly errorCode?: string
  readonly message?: string
  readonly durationMs?: number
  /** How often its tool ran. Absent in records of earlier versions. */
  readonly attempts?: number
  /** How long people were asked. Absent if no one was. */
  readonly askedMs?: number
  /** Who answered last, if the answer says so. */
  readonly answeredBy?: string
  /** The call whose tool made this one. */
  readonly parent?: string
}

/** `records` of one call, in their order. undefined if they say neither how it was decided nor how it ended. */
export function callRowOf(records: readonly PlacedRecord[]): CallRow | undefined {
  // A call that continues after a pause is decided again. Records of earlier versions do not tell decisions from uses.
  const decided = records.find(({ record }) => isDecision(record))
  const ended = records.findLast(({ record }) => isEnd(record))
  const main = decided ?? ended
  if (main === undefined) return undefined
  const { record, host, position } = main
  const end = ended?.record ?? {}
  const decision = decided && decisionOf(decided.record)
  const asked = questionsIn(records)
  const answeredBy = asked.findLast(({ by }) => by !== undefined)?.by
  const parent = textIn(record, 'parentCallId') ?? textIn(record, 'program')
  return {
    kind: 'call', at: timeOf(record), host, position, session: textIn(record, 'sessionId') ?? '',
    call: textIn(record, 'callId') ?? '',
    ...optional('principal', textIn(record, 'principal')), tool: textIn(record, 'tool') ?? '', origin: originIn(record),
    subject: textIn(record, 'approvalKey') ?? '', state: stateOf(ended?.record, decision),
    ...optional('decision', decision), ...optional('errorCode', textIn(end, 'errorCode')),
    ...optional('message', textIn(end, 'message') ?? textIn(end, 'reason')),
    ...optional('durationMs', numberIn(end, 'durationMs')), ...optional('attempts', numberIn(end, 'attempt')),
    ...optional('askedMs', sumOf(asked)),
    ...optional('answeredBy', answeredBy), ...optional('parent', parent),
  }
}

export function decisionOf(record: JsonObject): CallDecision {
  const decision = record['decision'] === 'allow' ? 'allow' : 'deny'
  return {
    decision, stage: textIn(record, 'stage') ?? '', source: textIn(record, 'source') ?? '',
    reason: textIn(record, 'reason') ?? '',
  }
}

function stateOf(end: JsonObject | undefined, decision: CallDecision | undefined): CallState {
  if (decision?.decision === 'deny') return 'denied'
  if (end === undefined) return 'open'
  const type = typeOf(end)
  return type === 'ToolInvocationSucceeded' ? 'succeeded' : type === 'ToolInvocationFailed' ? 'failed' : 'cancelled'
}

/** A question to a person. */
export interface AskedQuestion {
  readonly at: string
  readonly kind: string
  /** Who asked: the host or an extension. */
  readonly source: string
  /** Absent: it is not answered. */
  readonly status?: string
  /** Who answered, if that is known. */
  readonly by?: string
  readonly askedMs?: number
}

export function questionsIn(records: readonly PlacedRecord[]): readonly AskedQuestion[] {
  const answers = new Map(records.filter(({ record }) => typeOf(record) === 'InteractionAnswered')
    .map(({ record }) => [textIn(record, 'correlationId'), record]))
  return records.filter(({ record }) => typeOf(record) === 'InteractionRaised').map(({ record }) => {
    const answer = answers.get(textIn(record, 'correlationId'))
    const took = answer && Math.max(0, Date.parse(timeOf(answer)) - Date.parse(timeOf(record)))
    return {
      at: timeOf(record), kind: textIn(record, 'kind') ?? '', source: textIn(record, 'source') ?? '',
      ...optional('status', answer && textIn(answer, 'status')), ...optional('by', answer && textIn(answer, 'by')),
      ...optional('askedMs', took !== undefined && Number.isFinite(took) ? took : undefined),
    }
  })
}

const sumOf = (asked: readonly AskedQuestion[]): number | undefined =>
  asked.length === 0 ? undefined : asked.reduce((sum, { askedMs: ms = 0 }) => sum + ms, 0)

/** Nothing for undefined. */
export const optional = <Name extends string, Value>(
  name: Name, value: Value | undefined,
): { readonly [Key in Name]?: Value } => (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value }
