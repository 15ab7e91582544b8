import type { BulkheadError, Clock } from '@bulkhead/contract'
import { settlesWithin } from '@bulkhead/kit/deadlines'
import type { StopReport } from '../extensions/reload/retirement.ts'
import type { Workspace } from './workspace.ts'

export interface CloseReport extends StopReport {
  /** Calls that had to be cancelled. */
  readonly cancelledCalls: number
}

/** Releases every session, and stops everything. Running calls get some time, and are cancelled then. Never rejects. */
export async function closeAll(
  workspaces: readonly Workspace[], reason: BulkheadError, clock: Clock, drainMs: number,
): Promise<CloseReport> {
  const sessions = workspaces.flatMap((workspace) => [...workspace.sessions])
  for (const { parts } of sessions) parts.cancel.refuse(reason)
  await settlesWithin(clock, drainMs, Promise.all(sessions.map((session) => session.settled())))
  const cancelledCalls = sessions.reduce((sum, session) => sum + session.openCalls, 0)
  for (const { parts } of sessions) parts.cancel.cancel(reason)
  await Promise.all(sessions.map((session) => session.release()))
  const reports = await Promise.all(workspaces.map((workspace) => workspace.unload(reason, drainMs)))
  return {
    stopped: reports.flatMap(({ stopped }) => stopped), faults: reports.flatMap(({ faults }) => faults), cancelledCalls,
  }
}
