import { BulkheadError } from '@bulkhead/contract'
import { callOnce, endsCompartment, type CallFact, type CallsFacts } from './calls.ts'
import { evidenceOf, phasesIn, type Run } from './lifecycle.ts'
import { firstFact, type Requirement } from './requirement.ts'
import { callIdOf } from './services.ts'
import {
  emptyState, inCompartment, openCompartment, runPhase, type OpenedCompartment, type RunTarget,
} from './target.ts'

export interface ReloadFacts {
  /** Calls that ran while the extension was deactivated, and how that ended. */
  readonly drained: readonly CallFact[]
  readonly drain: Run
  readonly stopAfterCancel: Run
  /** Calls after deactivate and activate. */
  readonly reactivated: readonly CallFact[]
  /** Calls of each generation. */
  readonly generations: readonly CallFact[]
}

const PARALLEL = 4
const GENERATIONS = 3

/** Stops, reactivates and reloads the extension while calls run, as a host does. */
export async function observeReload(target: RunTarget, { calls, reliable }: CallsFacts): Promise<ReloadFacts> {
  const valid = target.extension.manifest.tools.flatMap((tool) =>
    calls.find((call) => call.tool === tool && call.kind === 'valid') ?? [])
  const { drained, drain } = await inCompartment(target, async (opened) => {
    const running = valid.flatMap((fact) => Array.from({ length: PARALLEL }, () => callOnce(opened, fact)))
    const stopped = await phasesIn(opened, 'deactivate')
    return { drained: await Promise.all(running), drain: stopped }
  })
  return {
    drained, drain,
    stopAfterCancel: await inCompartment(target, (opened) => cancelAndStop(opened, valid)),
    reactivated: await inCompartment(target, async (opened) =>
      await phasesIn(opened, 'deactivate', 'activate') ? [] : callAll(opened, reliable)),
    generations: await reloaded(target, reliable),
  }
}

async function callAll(opened: OpenedCompartment, facts: readonly CallFact[]): Promise<readonly CallFact[]> {
  const results: CallFact[] = []
  for (const fact of facts) results.push(await callOnce(opened, fact))
  return results
}

async function cancelAndStop(opened: OpenedCompartment, facts: readonly CallFact[]): Promise<Run> {
  const cancel = new AbortController()
  const running = facts.map(({ tool: { name }, args }, index) => opened.session
    .call({ callId: callIdOf(name, `stopped-${index}`), tool: name, args, signal: cancel.signal })
    .catch(() => undefined))
  cancel.abort(new BulkheadError('ToolCancelled', 'Cancelled by the conformance suite.'))
  await Promise.all(running)
  await opened.session.quiet
  return phasesIn(opened, 'deactivate', 'dispose')
}

/** Each generation starts before the one before it stops, unless only one may be loaded or active. */
async function reloaded(target: RunTarget, facts: readonly CallFact[]): Promise<readonly CallFact[]> {
  const { loadedCardinality, activeCardinality } = target.extension.manifest
  const isAlone = loadedCardinality !== 'unlimited' || activeCardinality !== 'unlimited'
  const state = emptyState()
  const results: CallFact[] = []
  let current: OpenedCompartment | undefined
  const stop = async (opened: OpenedCompartment | undefined): Promise<void> => {
    if (opened) await phasesIn(opened, 'deactivate', 'dispose')
    await opened?.session.close()
  }
  try {
    for (let generation = 0; generation < GENERATIONS; generation++) {
      if (isAlone) await stop(current)
      const next = await openCompartment(target, { state })
      const before = current
      current = next
      await runPhase(next, 'init')
      await runPhase(next, 'activate')
      results.push(...await callAll(next, facts))
      if (!isAlone) await stop(before)
      results.push(...await callAll(next, facts))
    }
    return results
  } finally {
    await stop(current)
  }
}

const SPEC = 'docs/guides/lifecycle.md'
const failure = ({ error }: CallFact): string | undefined => error && `${error.code}: ${error.message}`

export const RELOAD_REQUIREMENTS: readonly Requirement<ReloadFacts>[] = [
  {
    id: 'drain', level: 'must', spec: SPEC,
    statement: 'Calls that run while the extension is deactivated get an answer, and deactivate succeeds.',
    why: 'A host deactivates after its calls have had time to end, and some take longer.',
    cure: 'In deactivate, close what is idle, and let running calls end.',
    check: ({ drained, drain }) => evidenceOf(drain) ?? firstFact(drained, (fact) =>
      (endsCompartment(fact) || fact.error?.code === 'ExecutionTimeout') && failure(fact)),
  },
  {
    id: 'stop-after-cancel', level: 'must', spec: SPEC,
    statement: 'deactivate and dispose succeed after cancelled calls.',
    why: 'A host that closes cancels calls and stops extensions at once.',
    cure: 'Release in the call what the call took, also when it is cancelled.',
    check: ({ stopAfterCancel }) => evidenceOf(stopAfterCancel),
  },
  {
    id: 'reactivate-serves', level: 'must', spec: SPEC,
    statement: 'Tools work after deactivate and activate.',
    why: 'A host puts the last good version back into service after a failed reload.',
    cure: 'Create in activate what deactivate released.',
    check: ({ reactivated }) => firstFact(reactivated, failure),
  },
  {
    id: 'reload', level: 'must', spec: SPEC,
    statement: `Tools work in each of ${GENERATIONS} generations, beside the one before and after it has ended.`,
    why: 'A reload starts the next generation before the old one ends.',
    cure: 'Keep no lock in files or state, or declare activeCardinality "one".',
    check: ({ generations }) => firstFact(generations, failure),
  },
]
