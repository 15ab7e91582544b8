import type { Store } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** A call as the journal and the audit both name it. */
export interface NamedCall {
  readonly sessionId: string
  readonly callId: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

const ENDS: ReadonlySet<Json | undefined> = new Set(['ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled'])
/** Records read at a time. */
const PAGE = 1_000

/**
 * Those of the calls that have an end in the audit: their host ended after it had written the end and before it had dropped the call
 * from the journal. Reads the audit backwards, no further than to when the first of them started. Rejects with StoreUnavailable.
 */
export async function endedIn<Call extends NamedCall>(store: Store, calls: readonly Call[]): Promise<ReadonlySet<Call>> {
  const open = byName(calls)
  const since = calls.reduce((earliest, { startedAt }) => Math.min(earliest, startedAt), Infinity)
  const ended = new Set<Call>()
  if (open.size === 0) return ended
  const { first, last } = await store.auditSpan()
  for (let to = last; to > 0 && to >= first && open.size > 0;) {
    const from = Math.max(first, to - PAGE + 1)
    let latest = -Infinity
    for (const { record } of (await store.records(from, to - from + 1)).toReversed()) {
      const { type, sessionId, callId, at } = isJsonObject(record) ? record : {}
      const time = Date.parse(String(at))
      if (time > latest) latest = time
      const isEnd = ENDS.has(type)
      if (!isEnd && type !== 'ToolInvocationDecided') continue
      const name = nameOf(sessionId, callId)
      const call = open.get(name)
      // A session may use an id again: only its last use is the call that was left open, and that one may have no record yet.
      if (call && isEnd && time >= call.startedAt) ended.add(call)
      open.delete(name)
    }
    if (latest < since) break
    to = from - 1
  }
  return ended
}

/** Two that are open under one name are not told apart, and neither is taken for ended. */
function byName<Call extends NamedCall>(calls: readonly Call[]): Map<string, Call> {
  const groups = Map.groupBy(calls, ({ sessionId, callId }) => nameOf(sessionId, callId))
  return new Map([...groups].filter(([, { length }]) => length === 1).map(([name, [call]]) => [name, call!]))
}

const nameOf = (sessionId: Json | undefined, callId: Json | undefined): string => JSON.stringify([sessionId, callId])
