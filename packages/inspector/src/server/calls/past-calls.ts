import { readRows, readStory, storyLines, type AuditChainReader, type CallRow, type CallStory } from '@bulkhead/contract/audit'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { AuditLink, CallDetail, CallExport, CallItem, Span } from '../../protocol.ts'
import type { CallQuery } from './call-query.ts'
import { callIdOf, originWords, shown } from './live-call.ts'
import { inOrder, PHASES } from './spans.ts'

/** Calls as the audit has them. Latest first. Rejects with StoreUnavailable. */
export async function pastCalls(
  chains: readonly AuditChainReader[], { failed, tool, session, text, before, limit }: CallQuery,
): Promise<readonly CallItem[]> {
  const until = before === undefined ? undefined : new Date(before - 1).toISOString()
  const rows = await readRows(chains, { failed: failed || undefined, tool, session, text, until, onlyCalls: true }, limit)
  return rows.flatMap((row) => row.kind === 'call' ? [itemOf(row)] : []).toReversed()
}

const STATES: Readonly<Record<CallRow['state'], CallItem['state']>> = {
  open: 'running', succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled', denied: 'denied',
}

export function itemOf(row: CallRow): CallItem {
  const { at, host, session, call, principal, tool, origin, subject, state, decision, errorCode, message } = row
  const { durationMs, askedMs, parent } = row
  return {
    id: callIdOf(session, call), session: shown(session), call: shown(call), host: shown(host), tool: shown(tool),
    origin: originWords(origin), state: STATES[state], at: Date.parse(at), subject: shown(subject),
    ...(principal !== undefined && { principal: shown(principal) }),
    ...(parent !== undefined && { parent: callIdOf(session, parent) }), ...(durationMs !== undefined && { ms: durationMs }),
    ...(askedMs !== undefined && { waitedMs: askedMs }), ...(decision && { by: shown(`${decision.source}: ${decision.reason}`) }),
    ...(errorCode !== undefined && { code: shown(errorCode) }), ...(message !== undefined && { message: shown(message) }),
  }
}

/** What the audit says about one call. undefined if it has none. Rejects with StoreUnavailable. */
export async function pastCall(
  chains: readonly AuditChainReader[], session: string, call: string,
): Promise<CallDetail | undefined> {
  const story = await readStory(chains, { session, call })
  if (story === undefined || story.session !== session) return undefined
  const { agent, decision, uses } = story
  const item = { ...itemOf(story), ...(agent !== undefined && { agent: shown(agent) }) }
  const decided = [...(decision ? [decision] : []), ...uses]
    .map((one) => ({ stage: shown(one.stage), action: one.decision, source: shown(one.source), reason: shown(one.reason) }))
  const link = linkOf(story)
  return {
    item, spans: spansOf(story), story: storyLines(story).map(({ label, text }) => shown(`${label}: ${text}`)), decided, children: story.children.map(itemOf),
    ...(link && { audit: link }),
  }
}

/** The last record is the one that the others are before. */
function linkOf({ records }: CallStory): AuditLink | undefined {
  const last = records.findLast(({ link }) => link !== null)
  return last && { chain: shown(last.host), position: last.position, link: last.link! }
}

/** The end of a call has its phases and uses. Without them, the audit has the times of questions and of what was asked or denied. */
function spansOf(story: CallStory): readonly Span[] {
  const { at, durationMs, questions, uses, measured, keys, phases = [], children, records } = story
  // Its first record may be its decision, after people were waited for.
  const ended = records.findLast(({ type }) => /^ToolInvocation(?:Succeeded|Failed|Cancelled)$/.test(type))
  const begun = ended === undefined || durationMs === undefined ? Date.parse(at) : Date.parse(ended.at) - durationMs
  const from = (time: string): number => Math.max(0, Date.parse(time) - begun)
  const whole = { kind: 'run' as const, depth: 0, words: 'the call', fromMs: 0, ...(durationMs !== undefined && { ms: durationMs }) }
  const isIn = (time: string): boolean => phases.some(({ kind, fromMs, ms }) =>
    kind === 'person' && from(time) >= fromMs - CLOCK_MS && from(time) <= fromMs + ms)
  return inOrder([
    ...(phases.length === 0 ? [whole] : phases.map(({ kind, fromMs, ms }) => ({ kind, depth: 0, words: PHASES[kind] ?? shown(kind), fromMs, ms }))),
    ...(measured ?? []).map(({ part, subject, fromMs, ms, readBytes, writtenBytes, failed }) => ({
      kind: 'use' as const, depth: 1, words: shown(`${part} ${subject}`), fromMs, ms, capability: shown(part), subject: shown(subject),
      ...(readBytes !== undefined && { bytesRead: readBytes }), ...(writtenBytes !== undefined && { bytesWritten: writtenBytes }),
      ...(failed && { failed }),
    })),
    ...children.map(({ session, call, tool, at: called, durationMs: took }) => ({
      kind: 'call' as const, depth: 1, words: shown(`calls ${tool}`), fromMs: from(called), callId: callIdOf(session, call),
      ...(took !== undefined && { ms: took }),
    })),
    ...questions.filter((question) => !isIn(question.at)).map(({ at: asked, askedMs, kind }) => ({
      kind: 'person' as const, depth: 1, words: shown(`${kind}: waits for a person`), fromMs: from(asked),
      ...(askedMs !== undefined && { ms: askedMs }),
    })),
    ...(measured ? [] : uses).map(({ at: used, use, subject, decision }) => ({
      kind: 'use' as const, depth: 1, words: shown(`${use ?? 'use'} ${subject}`), fromMs: from(used), subject: shown(subject),
      ...(use !== undefined && { capability: shown(use) }), ...(decision === 'deny' && { failed: true as const }),
    })),
    ...keys.map(({ at: sent, key, method, host, path, refused }) => ({
      kind: 'use' as const, depth: 1, words: shown(`key ${key}: ${method} ${host}${path}`), fromMs: from(sent), capability: 'secrets',
      subject: shown(`${method} ${host}${path}`), ...(refused !== undefined && { failed: true as const }),
    })),
  ])
}

/** Records have whole milliseconds of another clock. */
const CLOCK_MS = 5

/** The records of a call with the links that cover them. Rejects with StoreUnavailable. */
export async function auditRecords(
  chains: readonly AuditChainReader[], session: string, call: string,
): Promise<CallExport['audit']> {
  const story = await readStory(chains, { session, call })
  if (story === undefined || story.session !== session) return []
  const found = await Promise.all(story.records.map(async ({ host, position, link }) => {
    const chain = chains.find(({ name }) => name === host)
    const [entry] = position === 0 ? [] : await chain?.records(position, 1) ?? []
    const record: Json = entry && isJsonObject(entry.record) ? entry.record : null
    return { chain: host, position, link: link ?? '', record }
  }))
  return found
}
