import { setTimeout as delay } from 'node:timers/promises'
import { BulkheadError, type ToolManifest } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import type { CallsFacts } from './calls.ts'
import { firstFact, type Requirement } from './requirement.ts'
import { inCompartment, openCompartment, type ConformanceTarget } from './target.ts'

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
  readonly tools: readonly AbortFact[]
}

/**
 * Cancels a call of each tool shortly after it began, and calls again. Times are relative to the start of a
 * compartment.
 */
export async function observeAbort(target: ConformanceTarget, { calls }: CallsFacts): Promise<AbortFacts> {
  const began = performance.now()
  await (await openCompartment(target)).session.close()
  const startMs = performance.now() - began
  const tools: AbortFact[] = []
  for (const tool of target.extension.manifest.tools) {
    const args = calls.find((call) => call.tool === tool && call.kind === 'valid')?.args ?? {}
    tools.push(await inCompartment(target, (opened) => cancelOne(opened, tool, args, startMs)))
  }
  return { tools }
}

async function cancelOne(
  { session, log }: Awaited<ReturnType<typeof openCompartment>>, tool: ToolManifest, args: JsonObject, startMs: number,
): Promise<AbortFact> {
  const cancel = new AbortController()
  const late: string[] = []
  let isOver = false
  const onProgress = (text: string): void => {
    if (isOver) late.push(text)
  }
  const call = session.call({ callId: 'cancelled', tool: tool.name, args, signal: cancel.signal, onProgress })
    .catch(() => undefined)
  await delay(startMs / 20)
  cancel.abort(new BulkheadError('ToolCancelled', 'Cancelled by the conformance suite.'))
  await call
  // Settles when the tool has stopped, or was killed after its grace period.
  await session.quiet
  isOver = true
  const before = log.length
  await delay(startMs / 4)
  late.push(...log.slice(before).map(({ text }) => text))
  const end = await Promise.race([session.ended, Promise.resolve(undefined)])
  const ended = end?.kind === 'failed' ? end.error : undefined
  const next = await session.call({ callId: 'next', tool: tool.name, args, signal: AbortSignal.timeout(60_000) })
    .then(() => undefined, BulkheadError.from)
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
    check: ({ tools }) => firstFact(tools, ({ ended }) => ended && `${ended.code}: ${ended.message}`),
  },
  {
    id: 'abort-quiet', level: 'must', spec: SPEC,
    statement: 'Nothing of a cancelled call runs on.',
    why: 'Its user has moved on.',
    cure: 'Clear timers and close streams when runtime.signal aborts.',
    check: ({ tools }) => firstFact(tools, ({ late }) =>
      late.length > 0 && `it reported "${late[0]!.slice(0, 80)}" afterwards`),
  },
  {
    id: 'abort-next', level: 'must', spec: SPEC,
    statement: 'The next call works after a cancelled one.',
    why: 'A session goes on after a person stops one call.',
    cure: 'Release locks and queues of a cancelled call.',
    check: ({ tools }) => firstFact(tools, ({ ended, next }) => !ended && next && `${next.code}: ${next.message}`),
  },
]
