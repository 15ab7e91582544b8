import { BulkheadError, LIFECYCLE_PHASES, type LifecyclePhase, type LogEntry } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { firstOf, type Requirement } from './requirement.ts'
import { openCompartment, type ConformanceTarget, type OpenedCompartment, type OpenOptions } from './target.ts'

/** How one attempt to run phases ended: the phase that failed, and why. */
export type Run = { readonly phase: LifecyclePhase | 'open'; readonly error: BulkheadError } | undefined

export interface LifecycleFacts {
  readonly start: Run
  readonly inOrder: Run
  readonly disposedTwice: Run
  readonly disposedWithoutInit: Run
  readonly deactivatedTwice: Run
  readonly activatedAgain: Run
  readonly restarts: readonly Run[]
  /** What one start and stop logged as a warning or an error. */
  readonly complaints: readonly string[]
}

const RESTARTS = 20
/** Restarts that run together, to save time. */
const AT_ONCE = 4

/** Runs phases in new compartments, in order and out of order. Not `isWhole`: only whether it starts and stops. */
export async function observeLifecycle(target: ConformanceTarget, isWhole: boolean): Promise<LifecycleFacts> {
  const run = (...phases: readonly LifecyclePhase[]): Promise<Run> => runPhases(target, phases)
  const start = await run()
  if (start) return { ...NEVER_STARTED, start }
  if (!isWhole) return { ...NEVER_STARTED, start, inOrder: await run(...LIFECYCLE_PHASES) }
  const restarts: Run[] = []
  const log: LogEntry[] = []
  while (restarts.length < RESTARTS) {
    restarts.push(...await Promise.all(Array.from({ length: AT_ONCE }, () =>
      runPhases(target, LIFECYCLE_PHASES, {}, log))))
  }
  const [disposedTwice, disposedWithoutInit, deactivatedTwice, activatedAgain] = await Promise.all([
    run('init', 'activate', 'deactivate', 'dispose', 'dispose'),
    run('dispose'),
    run('init', 'activate', 'deactivate', 'deactivate'),
    run('init', 'activate', 'deactivate', 'activate', 'deactivate', 'dispose'),
  ])
  return {
    start, restarts,
    complaints: log.filter(({ level }) => level === 'warn' || level === 'error').map(({ text }) => text),
    inOrder: restarts[0],
    disposedTwice, disposedWithoutInit, deactivatedTwice, activatedAgain,
  }
}

const NEVER_STARTED = {
  inOrder: undefined, disposedTwice: undefined, disposedWithoutInit: undefined, deactivatedTwice: undefined,
  activatedAgain: undefined, restarts: [], complaints: [],
} satisfies Omit<LifecycleFacts, 'start'>

/** Runs phases in a compartment of their own. */
export async function runPhases(
  target: ConformanceTarget, phases: readonly LifecyclePhase[], options?: OpenOptions, log: LogEntry[] = [],
): Promise<Run> {
  let opened: OpenedCompartment
  try {
    opened = await openCompartment(target, options)
  } catch (thrown) {
    return { phase: 'open', error: BulkheadError.from(thrown) }
  }
  const run = await phasesIn(opened, ...phases)
  if (!run) log.push(...opened.log)
  await opened.session.close()
  return run
}

export async function phasesIn({ session }: OpenedCompartment, ...phases: readonly LifecyclePhase[]): Promise<Run> {
  for (const phase of phases) {
    try {
      await session.lifecycle(phase)
    } catch (thrown) {
      return { phase, error: BulkheadError.from(thrown) }
    }
  }
  return undefined
}

export const evidenceOf = (run: Run): string | undefined =>
  run && `${run.phase}: ${run.error.code}: ${messageOf(run.error)}`
const SPEC = 'docs/guides/lifecycle.md'

export const LIFECYCLE_REQUIREMENTS: readonly Requirement<LifecycleFacts>[] = [
  {
    id: 'exports', level: 'must', spec: SPEC,
    statement: 'The code loads and exports exactly what the manifest declares.',
    why: 'A host refuses to start anything else.',
    cure: 'Export one tool for each tool of the manifest, under its name.',
    check: ({ start }) => evidenceOf(start),
  },
  {
    id: 'lifecycle-order', level: 'must', spec: SPEC,
    statement: 'init, activate, deactivate and dispose succeed in this order, each within its deadline.',
    why: 'Every host runs the phases in this order.',
    cure: 'Make the phase succeed without network, credentials or files that a new machine lacks.',
    check: ({ inOrder }) => evidenceOf(inOrder),
  },
  {
    id: 'dispose-idempotent', level: 'must', spec: SPEC,
    statement: 'A second dispose does nothing and does not fail.',
    why: 'A host that stops while an extension stops may dispose it again.',
    cure: 'Return early from dispose if everything is released.',
    check: ({ disposedTwice }) => evidenceOf(disposedTwice),
  },
  {
    id: 'dispose-without-init', level: 'must', spec: SPEC,
    statement: 'dispose succeeds if init never ran.',
    why: 'A host disposes an extension whose start was cancelled.',
    cure: 'Do not rely in dispose on anything that init creates.',
    check: ({ disposedWithoutInit }) => evidenceOf(disposedWithoutInit),
  },
  {
    id: 'deactivate-idempotent', level: 'must', spec: SPEC,
    statement: 'A second deactivate does nothing and does not fail.',
    why: 'A reload that is interrupted deactivates again.',
    cure: 'Return early from deactivate if it ran already.',
    check: ({ deactivatedTwice }) => evidenceOf(deactivatedTwice),
  },
  {
    id: 'activate-again', level: 'must', spec: SPEC,
    statement: 'activate succeeds again after deactivate.',
    why: 'A host puts the last good version back into service after a failed reload.',
    cure: 'Create in activate what deactivate released.',
    check: ({ activatedAgain }) => evidenceOf(activatedAgain),
  },
  {
    id: 'restarts', level: 'must', spec: SPEC,
    statement: `The extension starts and stops ${RESTARTS} times.`,
    why: 'A host stops idle extensions and starts them again.',
    cure: 'Look for files or state that one run leaves for the next.',
    check: ({ restarts }) =>
      firstOf(restarts.entries(), ([index, run]) => run && `run ${index + 1}: ${evidenceOf(run)}`),
  },
  {
    id: 'start-log', level: 'should', spec: SPEC,
    statement: 'An ordinary start and stop logs no warning and no error.',
    why: 'Operators stop reading a log that warns each time.',
    cure: 'Log at the level info or debug, or not at all.',
    check: ({ complaints: [first] }) => first && `it logged "${first.slice(0, 120)}"`,
  },
]
