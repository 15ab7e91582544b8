import { BulkheadError, LIFECYCLE_PHASES, type LifecyclePhase, type LogEntry } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { OutOfTime } from './patience.ts'
import { firstOf, type Requirement } from './requirement.ts'
import { openCompartment, runPhase, type OpenedCompartment, type OpenOptions, type RunTarget } from './target.ts'

/** How one attempt to run phases ended: the phase that failed, and why. undefined: none did. */
export type Run = { readonly phase: LifecyclePhase | 'open'; readonly error: BulkheadError } | undefined

/** null: it was not run. */
export interface LifecycleFacts {
  readonly start: Run | null
  readonly inOrder: Run | null
  readonly disposedTwice: Run | null
  readonly disposedWithoutInit: Run | null
  readonly deactivatedTwice: Run | null
  readonly activatedAgain: Run | null
  readonly restarts: readonly Run[] | null
  /** What one start and stop logged as a warning or an error. */
  readonly complaints: readonly string[] | null
}

const RESTARTS = 20
/** Restarts that run together, to save time. */
const AT_ONCE = 4

/** Requirements whose facts come from one start and stop in order. */
const IN_ORDER = ['lifecycle-order', 'restarts', 'start-log'] as const

/** Other orders of phases, by the requirement that they are for. */
const ORDERS = {
  'dispose-idempotent': ['init', 'activate', 'deactivate', 'dispose', 'dispose'],
  'dispose-without-init': ['dispose'],
  'deactivate-idempotent': ['init', 'activate', 'deactivate', 'deactivate'],
  'activate-again': ['init', 'activate', 'deactivate', 'activate', 'deactivate', 'dispose'],
} as const satisfies Readonly<Record<string, readonly LifecyclePhase[]>>

/**
 * Runs phases in new compartments, in order and out of order: only those that a wanted requirement needs.
 * `needsOrder`: whether it starts and stops has to be known in any case.
 */
export async function observeLifecycle(
  target: RunTarget, wants: (id: string) => boolean, needsOrder: boolean,
): Promise<LifecycleFacts> {
  const log: LogEntry[] = []
  const isOrdered = needsOrder || IN_ORDER.some(wants)
  const first = isOrdered ? await runPhases(target, LIFECYCLE_PHASES, {}, log)
    : wants('exports') ? await runPhases(target, []) : null
  const complaints = log.filter(({ level }) => level === 'warn' || level === 'error').map(({ text }) => text)
  const start = first?.phase === 'open' ? first : first === null ? null : undefined
  const facts = { ...NOT_RUN, start }
  if (start) return facts
  if (first?.error.code === 'LifecycleTimeout') target.patience.end(`${first.phase} took longer than its deadline`)
  const inOrder = isOrdered ? first : null
  if (target.patience.reason !== undefined) return { ...facts, inOrder }
  const restarts = [first ?? undefined]
  while (wants('restarts') && restarts.length < RESTARTS) {
    const next = Math.min(AT_ONCE, RESTARTS - restarts.length)
    restarts.push(...await Promise.all(Array.from({ length: next }, () => runPhases(target, LIFECYCLE_PHASES))))
  }
  const ordered = async (id: keyof typeof ORDERS): Promise<Run | null> =>
    wants(id) ? runPhases(target, ORDERS[id]) : null
  const [disposedTwice, disposedWithoutInit, deactivatedTwice, activatedAgain] = await Promise.all([
    ordered('dispose-idempotent'), ordered('dispose-without-init'), ordered('deactivate-idempotent'),
    ordered('activate-again'),
  ])
  return {
    start, inOrder, restarts: isOrdered ? restarts : null, complaints: isOrdered ? complaints : null,
    disposedTwice, disposedWithoutInit, deactivatedTwice, activatedAgain,
  }
}

const NOT_RUN: LifecycleFacts = {
  start: null, inOrder: null, disposedTwice: null, disposedWithoutInit: null, deactivatedTwice: null,
  activatedAgain: null, restarts: null, complaints: null,
}

/** Runs phases in a compartment of their own. */
export async function runPhases(
  target: RunTarget, phases: readonly LifecyclePhase[], options?: OpenOptions, log: LogEntry[] = [],
): Promise<Run> {
  let opened: OpenedCompartment
  try {
    opened = await openCompartment(target, options)
  } catch (thrown) {
    if (thrown instanceof OutOfTime) throw thrown
    return { phase: 'open', error: BulkheadError.from(thrown) }
  }
  const run = await phasesIn(opened, ...phases)
  if (!run) log.push(...opened.log)
  await opened.session.close()
  return run
}

export async function phasesIn(opened: OpenedCompartment, ...phases: readonly LifecyclePhase[]): Promise<Run> {
  for (const phase of phases) {
    try {
      await runPhase(opened, phase)
    } catch (thrown) {
      return { phase, error: BulkheadError.from(thrown) }
    }
  }
  return undefined
}

export const evidenceOf = <Missing extends null>(run: Run | Missing): string | undefined | Missing =>
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
    check: ({ restarts }) => restarts
      && firstOf(restarts.entries(), ([index, run]) => run && `run ${index + 1}: ${evidenceOf(run)}`),
  },
  {
    id: 'start-log', level: 'should', spec: SPEC,
    statement: 'An ordinary start and stop logs no warning and no error.',
    why: 'Operators stop reading a log that warns each time.',
    cure: 'Log at the level info or debug, or not at all.',
    check: ({ complaints }) => complaints
      && firstOf(complaints, (first) => `it logged "${first.slice(0, 120)}"`),
  },
]
