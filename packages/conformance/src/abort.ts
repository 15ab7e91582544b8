import { setTimeout as delay } from 'node:timers/promises'
import { BulkheadError, type ToolManifest } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { callOnce, type CallFact, type CallsFacts } from './calls.ts'
import { firstFact, type Requirement } from './requirement.ts'
import { callIdOf } from './services.ts'
import {
  asked, inCompartment, openCompartment, type OpenedCompartment, type RunTarget,
} from './target.ts'

export interface AbortFact {
  readonly tool: ToolManifest
  /** Why its compartment ended, if it did. */
  readonly ended?: BulkheadError
  /** What the tool reported after its call had ended. */
  readonly late: readonly string[]
  /** How a call after the cancelled one failed, if its compartment was the reason. */
  readonly next?: BulkheadError
}

export interface AbortFacts {
  readonly cancelled: readonly AbortFact[]
  readonly overdue: readonly AbortFact[]
  /** Calls that ran beside a cancelled one. */
  readonly beside: readonly CallFact[]
}

const CANCELLED = new BulkheadError('ToolCancelled', 'Cancelled by the conformance suite.')
const OVERDUE = new BulkheadError('ExecutionTimeout', 'The conformance suite gave the call a short deadline.')

/**
 * Cancels a call of each tool shortly after it began, and calls again. Times are relative to the start of a
 * compartment.
 */
export async function observeAbort(
  target: RunTarget, { calls, reliable }: Pick<CallsFacts, 'calls' | 'reliable'>,
): Promise<AbortFacts> {
  const began = performance.now()
  await (await openCompartment(target)).session.close()
  const startMs = performance.now() - began
  const facts = async (reason: BulkheadError): Promise<readonly AbortFact[]> => {
    const all: AbortFact[] = []
    for (const tool of target.extension.manifest.tools) {
      const args = calls.find((call) => call.tool === tool && call.kind === 'valid')?.args ?? {}
      const observe = () => inCompartment(target, (opened) => cancelOne(opened, { tool, args, reason, startMs }))
      const first = await observe()
      // A busy machine may not have let it run within its grace period.
      all.push(first.ended ? await observe() : first)
    }
    return all
  }
  const beside = await Promise.all(reliable.map((fact) => inCompartment(target, async (opened) => {
    const cancel = new AbortController()
    const { tool: { name }, args } = fact
    const one = opened.session.call({ callId: callIdOf(name, 'one'), tool: name, args, signal: cancel.signal })
      .catch(() => undefined)
    const other = callOnce(opened, fact)
    await delay(startMs / 20)
    cancel.abort(CANCELLED)
    await one
    return await other
  })))
  return { cancelled: await facts(CANCELLED), overdue: await facts(OVERDUE), beside }
}

interface Cancellation {
  readonly tool: ToolManifest
  readonly args: JsonObject
  readonly reason: BulkheadError
  readonly startMs: number
}

async function cancelOne(
  { session, log, patience }: OpenedCompartment, { tool, args, reason, startMs }: Cancellation,
): Promise<AbortFact> {
  const cancel = new AbortController()
  const late: string[] = []
  let isOver = false
  const onProgress = (text: string): void => {
    if (isOver) late.push(text)
  }
  const call = session.call({
    callId: callIdOf(tool.name, 'cancelled'), tool: tool.name, args, signal: cancel.signal, onProgress,
  }).catch(() => undefined)
  await delay(startMs / 20)
  cancel.abort(reason)
  await call
  // Settles when the tool has stopped, or was killed after its grace period.
  await session.quiet
  isOver = true
  const before = log.length
  await delay(startMs / 4)
  late.push(...log.slice(before).map(({ text }) => text))
  const end = await Promise.race([session.ended, Promise.resolve(undefined)])
  const ended = end?.kind === 'failed' ? end.error : undefined
  const next = await asked({ patience }, `"${tool.name}"`, (signal) => session
    .call({ callId: callIdOf(tool.name, 'next'), tool: tool.name, args, signal })
    .then(() => undefined, BulkheadError.from))
  return {
    tool, late, ...(ended && { ended }), ...(next?.class === 'ExtensionHost' && { next }),
  }
}

const SPEC = 'docs/guides/publishing.md'

export const ABORT_REQUIREMENTS: readonly Requirement<AbortFacts>[] = [
  {
    id: 'abort', level: 'must', spec: SPEC,
    statement: 'A cancelled call stops within its grace period.',
    why: 'The host ends the compartment otherwise, and every other call in it.',
    cure: 'Pass runtime.signal to whatever waits, and check it in loops.',
    check: ({ cancelled }) => firstFact(cancelled, ({ ended }) => ended && `${ended.code}: ${ended.message}`),
  },
  {
    id: 'abort-quiet', level: 'must', spec: SPEC,
    statement: 'Nothing of a cancelled call runs on.',
    why: 'Its user has moved on.',
    cure: 'Clear timers and close streams when runtime.signal aborts.',
    check: ({ cancelled }) => firstFact(cancelled, ({ late }) =>
      late.length > 0 && `it reported "${late[0]!.slice(0, 80)}" afterwards`),
  },
  {
    id: 'abort-next', level: 'must', spec: SPEC,
    statement: 'The next call works after a cancelled one.',
    why: 'A session goes on after a person stops one call.',
    cure: 'Release locks and queues of a cancelled call.',
    check: ({ cancelled }) =>
      firstFact(cancelled, ({ ended, next }) => !ended && next && `${next.code}: ${next.message}`),
  },
  {
    id: 'deadline', level: 'must', spec: SPEC,
    statement: 'A call whose deadline passes stops within its grace period.',
    why: 'The host ends the compartment otherwise, and every other call in it.',
    cure: 'Treat every reason of runtime.signal alike. Do not try again after an abort.',
    check: ({ overdue }) => firstFact(overdue, ({ ended }) => ended && `${ended.code}: ${ended.message}`),
  },
  {
    id: 'abort-others', level: 'must', spec: SPEC,
    statement: 'Cancelling one call does not disturb another one.',
    why: 'An agent cancels one of several calls.',
    cure: 'Use the signal of each call. Share no AbortController between calls.',
    check: ({ beside }) => firstFact(beside, ({ error }) => error && `${error.code}: ${error.message}`),
  },
]
