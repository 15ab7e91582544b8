import type { RuleAction } from '@bulkhead/contract'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { Host, Session } from '@bulkhead/host'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'

/** A decision about a whole call, with all that is needed to decide it again. */
export interface RecordedDecision {
  readonly at: string
  readonly session: string
  readonly tool: string
  readonly arguments: JsonObject
  /** The key of the call. */
  readonly subject: string
  /** What the policy said. `ask`: a person or a rule answered then. */
  readonly decision: RuleAction
}

/** Why decisions of an audit cannot be made again, and how many. */
export interface NotReplayed {
  /** `audit.arguments` was off. */
  readonly withoutArguments: number
  /** Something secret was removed from the arguments. */
  readonly redacted: number
  /** A tool made the call, and its power counts too. */
  readonly ofTools: number
  /** The session was opened for another folder, or for an agent, or is not in the audit. */
  readonly ofOtherSessions: number
}

export interface RecordedDecisions {
  /** Oldest first. */
  readonly calls: readonly RecordedDecision[]
  readonly left: NotReplayed
}

const PAGE = 1_000

/** The decisions about calls of sessions in a folder, the latest of each audit. Rejects with StoreUnavailable. */
export async function recordedDecisions(
  chains: readonly AuditChainReader[], workspace: string, most: number,
): Promise<RecordedDecisions> {
  const calls: RecordedDecision[] = []
  const left = { withoutArguments: 0, redacted: 0, ofTools: 0, ofOtherSessions: 0 }
  for (const chain of chains) {
    const { first, last } = await chain.auditSpan()
    const here = new Set<string>()
    for (let from = Math.max(first, 1); from <= last; from += PAGE) {
      for (const { record } of await chain.records(from, Math.min(PAGE, last - from + 1))) {
        if (!isJsonObject(record)) continue
        const { type, sessionId } = record
        if (type === 'SessionOpened' && record['workspace'] === workspace && record['agent'] === undefined) here.add(String(sessionId))
        if (type !== 'ToolInvocationDecided' || record['use'] !== undefined) continue
        const why = !here.has(String(sessionId)) ? 'ofOtherSessions' : whyNot(record)
        if (why === undefined) calls.push(decisionIn(record))
        else left[why]++
      }
    }
  }
  const sorted = calls.toSorted((a, b) => a.at < b.at ? -1 : 1)
  return { calls: sorted.slice(-most), left }
}

function whyNot(record: JsonObject): keyof NotReplayed | undefined {
  if (record['parentCallId'] !== undefined && record['program'] === undefined) return 'ofTools'
  const { args } = record
  if (!isJsonObject(args)) return 'withoutArguments'
  return JSON.stringify(args).includes('[redacted]') ? 'redacted' : undefined
}

function decisionIn(record: JsonObject): RecordedDecision {
  const text = (name: string): string => typeof record[name] === 'string' ? record[name] : ''
  return {
    at: text('at'), session: text('sessionId'), tool: text('tool'), arguments: record['args'] as JsonObject,
    subject: text('approvalKey'), decision: saidBy(text('stage'), text('source'), text('decision')),
  }
}

const BY_MODE: ReadonlySet<string> = new Set(['mode yolo', 'mode learn', 'allowlist'])

/** Modes and the allowlist answer at the same stage as people. */
function saidBy(stage: string, source: string, decision: string): RuleAction {
  const isAnswered = stage === 'approval' && !BY_MODE.has(source)
  if (isAnswered || source === 'sm-grant-token') return 'ask'
  return decision === 'allow' ? 'allow' : 'deny'
}

/** What a policy decides about a call that was made before. */
export interface Redecided<Call extends Pick<RecordedDecision, 'tool' | 'arguments'>> {
  readonly call: Call
  readonly decision: RuleAction
  /** Why, each with its source. */
  readonly reasons: readonly string[]
}

/** Decides calls again as `explain` does. Nothing runs, no one is asked, and no approvals count. */
export async function decideAgain<Call extends Pick<RecordedDecision, 'tool' | 'arguments'>>(
  session: Pick<Session, 'explain'>, calls: readonly Call[],
): Promise<readonly Redecided<Call>[]> {
  const decided: Redecided<Call>[] = []
  for (const [index, call] of calls.entries()) {
    const { decision, chain } = await session.explain({ id: `again-${index}`, name: call.tool, arguments: call.arguments })
    const reasons = chain.filter(({ action }) => action === decision).map(({ reason }) => reason)
    decided.push({ call, decision, reasons: [...new Set(reasons)] })
  }
  return decided
}

/** A session in which what asks stays a question. */
export const askedSession = (
  host: Pick<Host, 'openSession'>, options: Parameters<Host['openSession']>[0] = {},
): Promise<Session> => host.openSession({ ...options, approver: { approve: async () => ({ decision: 'reject' }) } })
