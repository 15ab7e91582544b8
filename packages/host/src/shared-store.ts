import { hash } from 'node:crypto'
import { BulkheadError, requireOptions, type Clock, type Freeze, type FreezeReport, type HostUse, type Store } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { visibleText } from '@bulkhead/kit/text'
import type { RunningCall } from './calls/running-call.ts'
import type { FreezeOrder } from './host-interface.ts'
import type { EventBus } from './records/events.ts'
import type { Extension } from './extensions/lifecycle/extension.ts'
import { HostSeat } from './records/host-seat.ts'
import { measureHost } from './records/host-use.ts'
import type { Owner } from './records/owner.ts'
import { showSessions } from './records/shown-sessions.ts'
import type { QuestionDesk } from './policy/interaction/question-desk.ts'
import { shareQuestions } from './policy/interaction/shared-questions.ts'
import { SoleWork } from './records/sole-work.ts'
import type { Workspace } from './sessions/workspace.ts'

export interface StoreSources {
  readonly store: Store
  /** As the embedder passed it. */
  readonly given: Store
  readonly owner: Owner
  readonly events: EventBus
  readonly clock: Clock
  /** Where its questions wait. */
  readonly desk: QuestionDesk
  /** The workspaces of the host, the current one first. */
  readonly workspaces: () => readonly Workspace[]
  /** Another host on the store is gone. */
  readonly onGone: () => void
}

/** The seat of a host on its store. It does what the other hosts want of it. */
export function takeSeat(
  { store, given, owner, events, clock, desk, workspaces, onGone }: StoreSources,
): HostSeat {
  let use: HostUse | undefined
  const isShared = store.work !== undefined && !store.forgets
  const stopMeasuring = isShared ? measureHost({
    clock, restarts: () => extensionsOf(workspaces()).reduce((sum, { restarts }) => sum + restarts, 0),
    walls: neededWalls(workspaces),
    onUse: (measured) => {
      use = measured
      seat.describe()
    },
  }) : () => undefined
  const seat: HostSeat = new HostSeat({
    work: store.work ?? new SoleWork(store, given, owner), owner, events, clock, onGone, onLeave: stopMeasuring,
    describe: () => {
      const [{ path, reloader: { report } }] = workspaces() as [Workspace]
      return { workspace: path, rules: digestOf(report.config.merged), ...(use && { use }) }
    },
    onFreeze: (freeze) => { if (freeze.cancel) cancelRunning(workspaces(), freeze) },
    onRevision: () => { for (const { projectApprovals } of workspaces()) projectApprovals.hint() },
  })
  showSessions(events, seat)
  if (isShared) shareQuestions({ desk, store, events, clock, seat })
  return seat
}

const digestOf = (rules: object): string => hash('sha256', canonicalJson(rules as unknown as Json)).slice(0, 12)

const extensionsOf = (workspaces: readonly Workspace[]): readonly Extension[] =>
  workspaces.flatMap(({ context: { registry }, retirement }) => [...registry.extensions(), ...retirement.leaving])

/** Trying walls starts processes, so it waits until a compartment in a process was needed. Then it is done once. */
function neededWalls(workspaces: () => readonly Workspace[]): () => Promise<readonly string[] | undefined> {
  let walls: Promise<readonly string[] | undefined> | undefined
  return () => {
    const isNeeded = extensionsOf(workspaces()).some(({ arrangement, wasStarted }) =>
      arrangement.placement === 'process' && wasStarted)
    if (isNeeded) {
      walls ??= workspaces()[0]!.walls().then((report) =>
        [...new Set(report.walls.filter(({ stands }) => stands).map(({ name }) => name))], () => undefined)
    }
    return walls ?? Promise.resolve(undefined)
  }
}

/** Cancels what runs, and nothing that waits: sessions and turns go on. */
function cancelRunning(workspaces: readonly Workspace[], { by, reason }: Freeze): void {
  const why = reason === undefined ? '' : `: ${visibleText(reason)}`
  const error = new BulkheadError('ToolCancelled', `${visibleText(by)} froze all hosts and cancelled what runs${why}.`)
  for (const { running } of extensionsOf(workspaces)) {
    for (const one of running.all()) (one as RunningCall).call.scope.cancel.cancel(error)
  }
}

const FREEZE: OptionForms<FreezeOrder> = { by: forms.text, reason: forms.text, cancel: forms.flag }

export async function freezeHosts(seat: HostSeat, order: FreezeOrder): Promise<FreezeReport> {
  requireOptions('freeze', order, FREEZE)
  const { by = `the host ${seat.id}`, reason, cancel } = order
  return seat.freeze({ by, ...(reason !== undefined && { reason }), ...(cancel && { cancel }) })
}
