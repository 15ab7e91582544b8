import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { CallPhase, EndedUse } from '../model/events.ts'
import {
  callRowOf, decisionOf, optional, questionsIn, type AskedQuestion, type CallDecision, type CallRow,
} from './call-row.ts'
import { pagesBackwards, type AuditChainReader } from './backwards.ts'
import {
  callKeyOf, isDecision, isEnd, numberIn, placedInOrder, textIn, timeOf, typeOf, type PlacedRecord,
} from './records.ts'

/** What the audit says about one call. */
export interface CallStory extends CallRow {
  /** Of its session, if the audit still has the record of its opening. */
  readonly workspace?: string
  readonly agent?: string
  /** The session that delegated to its session. */
  readonly parentSession?: string
  readonly argsSha256?: string
  /** Only if the configuration has `audit.arguments`. Redacted. */
  readonly arguments?: Json
  /** Watchdogs, guards and hooks that replaced arguments or the result. */
  readonly changes: readonly CallChange[]
  readonly questions: readonly AskedQuestion[]
  /** What it used while it ran, where a rule denied it or a person was asked. */
  readonly uses: readonly CallUsed[]
  readonly keys: readonly KeySent[]
  /** Its effects: the first of each attempt and step, in words. Absent in records of earlier versions. */
  readonly began?: readonly string[]
  /** What its time went to. Absent for a short call, and in records of earlier versions. */
  readonly phases?: readonly CallPhase[]
  /** The first capabilities that it used, with or without a question. Absent: none, or a record of an earlier version. */
  readonly measured?: readonly EndedUse[]
  /** How many more there were. */
  readonly moreMeasured?: number
  /** About the length of the result as JSON. */
  readonly resultChars?: number
  readonly errorClass?: string
  /** It is the recorded outcome of an earlier call with its idempotency key, and nothing ran. */
  readonly replayed?: true
  /** Calls that its tool made. */
  readonly children: readonly CallRow[]
  /** Its records, with the link of the chain that covers each. */
  readonly records: readonly StoryRecord[]
}

export interface CallChange extends Pick<CallDecision, 'stage' | 'source' | 'reason'> {
  readonly at: string
  readonly subject: string
  /** Digests. */
  readonly before: string
  readonly after: string
}

export interface CallUsed extends CallDecision {
  readonly at: string
  /** The capability. Absent in records of earlier versions. */
  readonly use?: string
  /** The path, host or command. */
  readonly subject: string
}

export interface KeySent {
  readonly at: string
  readonly key: string
  readonly method: string
  readonly host: string
  readonly path: string
  /** Why it was not sent. */
  readonly refused?: string
}

export interface StoryRecord {
  readonly host: string
  readonly position: number
  readonly at: string
  readonly type: string
  readonly link: string | null
  /** So many records before it could not be written. */
  readonly lostBefore?: number
}

/** How a call is named. */
export interface CallName {
  readonly call: string
  /** The id of its session, or the start of one. Default: the latest call with that id. */
  readonly session?: string | undefined
}

/** Records before the call that are searched for the opening of its session. */
const MOST_EARLIER_PAGES = 20

/** undefined if no audit has the call. Rejects with StoreUnavailable. */
export async function readStory(
  chains: readonly AuditChainReader[], name: CallName,
): Promise<CallStory | undefined> {
  const session = await sessionOf(chains, name)
  if (session === undefined) return undefined
  const kept: PlacedRecord[] = []
  let earlier = 0
  for await (const { records } of pagesBackwards(chains)) {
    const own = records.filter(({ record }) => record['sessionId'] === session)
    kept.push(...own)
    if (own.some(({ record }) => typeOf(record) === 'SessionOpened')) break
    const isFound = kept.some(({ record }) => isOf(record, session, name.call))
    if (isFound && ++earlier > MOST_EARLIER_PAGES) break
  }
  return storyOf(kept.toSorted(placedInOrder), session, name.call)
}

async function sessionOf(
  chains: readonly AuditChainReader[], { call, session = '' }: CallName,
): Promise<string | undefined> {
  for await (const { records } of pagesBackwards(chains)) {
    const found = records.findLast(({ record }) => callKeyOf(record) !== undefined && record['callId'] === call
      && (textIn(record, 'sessionId') ?? '').startsWith(session))
    if (found) return textIn(found.record, 'sessionId')
  }
  return undefined
}

/** `records`: at least those of the call, in their order. Those of its session and of the calls it made count too. */
export function storyOf(records: readonly PlacedRecord[], session: string, call: string): CallStory | undefined {
  const own = records.filter(({ record }) => callKeyOf(record) !== undefined && isOf(record, session, call))
  const row = callRowOf(own)
  if (row === undefined) return undefined
  const of = (type: string): readonly JsonObject[] =>
    own.filter(({ record }) => typeOf(record) === type).map(({ record }) => record)
  const decided = own.find(({ record }) => isDecision(record))?.record ?? {}
  const end = own.findLast(({ record }) => isEnd(record))?.record ?? {}
  const opened = records.find(({ record }) =>
    typeOf(record) === 'SessionOpened' && record['sessionId'] === session)?.record ?? {}
  const began = end['began']
  return {
    ...row,
    ...optional('workspace', textIn(opened, 'workspace')), ...optional('agent', textIn(opened, 'agent')),
    ...optional('parentSession', textIn(opened, 'parentId')), ...optional('argsSha256', textIn(decided, 'argsSha256')),
    ...optional('arguments', decided['args']), changes: of('ToolInvocationChanged').map(changeOf),
    questions: questionsIn(own),
    uses: of('ToolInvocationDecided').filter((record) => !isSameDecision(record, row, decided)).map(useOf),
    keys: own.filter(({ record }) => typeOf(record).startsWith('Key')).map(({ record }) => keyOf(record)),
    ...optional('began', Array.isArray(began) ? began.filter((one) => typeof one === 'string') : undefined),
    ...optional('phases', phasesIn(end)), ...optional('measured', usesIn(end)), ...optional('moreMeasured', numberIn(end, 'moreUses')),
    ...optional('resultChars', numberIn(end, 'resultChars')), ...optional('errorClass', textIn(end, 'errorClass')),
    ...(end['replayed'] === true && { replayed: true }),
    children: childrenIn(records, session, call),
    records: own.map(({ record, host, position, link }) => ({
      host, position, at: timeOf(record), type: typeOf(record), link, ...optional('lostBefore', numberIn(record, 'lostBefore')),
    })),
  }
}

const phasesIn = ({ phases }: JsonObject): readonly CallPhase[] | undefined => Array.isArray(phases)
  ? (phases as readonly Json[]).filter((one) => isTimed(one) && typeof one['kind'] === 'string') as unknown as readonly CallPhase[] : undefined

const usesIn = ({ uses }: JsonObject): readonly EndedUse[] | undefined => Array.isArray(uses)
  ? (uses as readonly Json[]).filter((one) => isTimed(one) && [one['part'], one['subject']].every((text) => typeof text === 'string')) as
    unknown as readonly EndedUse[] : undefined

const isTimed = (one: Json): one is JsonObject =>
  isJsonObject(one) && typeof one['fromMs'] === 'number' && typeof one['ms'] === 'number'

const isOf = (record: JsonObject, session: string, call: string): boolean =>
  record['sessionId'] === session && record['callId'] === call

/** A call that continues after a pause is decided again. */
const isSameDecision = (record: JsonObject, { subject }: CallRow, decided: JsonObject): boolean =>
  record === decided || (record['use'] === undefined && textIn(record, 'approvalKey') === subject)

const changeOf = (record: JsonObject): CallChange => {
  const { stage, source, reason } = decisionOf(record)
  const of = (name: string): string => textIn(record, name) ?? ''
  return { at: timeOf(record), subject: of('subject'), stage, source, reason, before: of('before'), after: of('after') }
}

const useOf = (record: JsonObject): CallUsed => ({
  at: timeOf(record), ...optional('use', textIn(record, 'use')), subject: textIn(record, 'approvalKey') ?? '',
  ...decisionOf(record),
})

function keyOf(record: JsonObject): KeySent {
  const of = (name: string): string => textIn(record, name) ?? ''
  const refused = typeOf(record) === 'KeyRefused' ? of('reason') : undefined
  return {
    at: timeOf(record), key: of('key'), method: of('method'), host: of('host'), path: of('path'),
    ...optional('refused', refused),
  }
}

function childrenIn(records: readonly PlacedRecord[], session: string, call: string): readonly CallRow[] {
  const inSession = records.filter(({ record }) => record['sessionId'] === session)
  const byCall = Map.groupBy(inSession, ({ record }) => callKeyOf(record))
  return [...byCall].flatMap(([key, own]) => {
    const row = key === undefined ? undefined : callRowOf(own)
    return row?.parent === call ? [row] : []
  })
}
