import { callOnce, type CallFact, type CallsFacts } from './calls.ts'
import { firstFact, type Requirement } from './requirement.ts'
import { inCompartment, probed, runPhase, type RunTarget } from './target.ts'

export interface LeakFacts {
  /** Timers that the calls of each tool left. */
  readonly afterCalls: readonly { readonly tool: CallFact['tool']; readonly timers: number }[]
  readonly afterDispose: number
  /** Calls that ran out of memory, after many of the same had not. */
  readonly outOfMemory: readonly CallFact[]
}

const TIMER_CALLS = 5
/** Heaps to try, in MB. A tool that needs more than the first for one call gets the second. */
const HEAPS = [24, 128] as const
/** They run at once. */
const FEW_CALLS = 10
const EXHAUSTED: ReadonlySet<string> = new Set(['CompartmentOutOfHeap', 'CompartmentOutOfMemory'])
const MANY_CALLS = 400
const MANY_CALLS_MS = 4_000

/** Counts the timers that calls and the whole extension leave, and makes many calls with little memory. */
export async function observeLeaks(target: RunTarget, facts: CallsFacts): Promise<LeakFacts> {
  const { reliable } = facts
  const timers = await inCompartment(target, async (opened) => {
    const afterCalls: LeakFacts['afterCalls'][number][] = []
    for (const fact of reliable) {
      const before = (await probed(opened)).timers
      for (let count = 0; count < TIMER_CALLS; count++) await callOnce(opened, fact)
      afterCalls.push({ tool: fact.tool, timers: (await probed(opened)).timers - before })
    }
    await runPhase(opened, 'deactivate')
    await runPhase(opened, 'dispose')
    return { afterCalls, afterDispose: (await probed(opened)).timers }
  }, { isInstrumented: true })
  const outOfMemory: CallFact[] = []
  for (const fact of reliable) {
    // A real service must not be called so often.
    const isReal = target.values !== undefined && (target.recorder?.uses ?? []).some(({ tool, part }) =>
      tool === fact.tool.name && (part === 'net' || part === 'shell'))
    if (!isReal) outOfMemory.push(...await exhausting(target, longest(facts, fact)))
  }
  return { ...timers, outOfMemory }
}

/** The largest arguments with which the tool succeeded. */
const longest = ({ calls }: CallsFacts, { tool, ...fact }: CallFact): CallFact => calls
  .filter((call) => call.tool === tool && call.kind === 'boundary' && !call.error)
  .toSorted((one, other) => JSON.stringify(other.args).length - JSON.stringify(one.args).length)[0] ?? { tool, ...fact }

/** The call that ran out of memory, if one did. */
async function exhausting(target: RunTarget, fact: CallFact): Promise<readonly CallFact[]> {
  for (const heapMb of HEAPS) {
    const found = await inCompartment(target, async (opened) => {
      const began = performance.now()
      for (let count = 0; count < MANY_CALLS && performance.now() - began < MANY_CALLS_MS; count += FEW_CALLS) {
        const batch = await Promise.all(Array.from({ length: FEW_CALLS }, () => callOnce(opened, fact)))
        const call = batch.find(({ error }) => EXHAUSTED.has(error?.code ?? ''))
        if (call) return { call, isLeak: count > 0 }
      }
      return undefined
    }, { limits: { heapMb } })
    if (found === undefined) return []
    if (found.isLeak) return [found.call]
  }
  return []
}

const SPEC = 'docs/guides/lifecycle.md'

export const LEAK_REQUIREMENTS: readonly Requirement<LeakFacts>[] = [
  {
    id: 'call-timers', level: 'must', spec: SPEC,
    statement: 'A call leaves no timer behind.',
    why: 'Each call makes the compartment slower, and its timers act after the answer.',
    cure: 'Clear timers in finally.',
    check: ({ afterCalls }) => firstFact(afterCalls, ({ timers }) =>
      timers >= TIMER_CALLS && `${TIMER_CALLS} calls left ${timers} timers`),
  },
  {
    id: 'dispose-timers', level: 'must', spec: SPEC,
    statement: 'No timer is left after dispose.',
    why: 'Code of an extension that was stopped would go on.',
    cure: 'Clear all timers in deactivate or dispose.',
    check: ({ afterDispose }) => afterDispose > 0 ? `${afterDispose} timers are left` : undefined,
  },
  {
    id: 'call-memory', level: 'must', spec: SPEC,
    statement: `Memory returns after calls: ${MANY_CALLS} in a row need no more than a few.`,
    why: 'A host keeps a compartment for hours.',
    cure: 'Bound caches, and drop what belongs to a call when it ends.',
    check: ({ outOfMemory }) => firstFact(outOfMemory, ({ error }) => `${error!.code}: ${error!.message}`),
  },
]
