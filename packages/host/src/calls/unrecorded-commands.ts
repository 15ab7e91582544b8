import { within } from '@bulkhead/kit/deadlines'
import type { HostContext, ValidatedCall } from '../policy/call.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'

/** Longer than it takes to count as many files as can be recorded. */
const COUNT_MS = 2_000
const LATE = 'its folders could not be counted in time'

/**
 * Why undo could not put back what commands of a call change, for the person who is asked. undefined if it could, or if
 * the call runs none that may write. Contract: never rejects.
 */
export async function unrecordedCommands(
  { tool, session: { policy } }: ValidatedCall, { onlyReads }: CallAnalysis, host: HostContext,
): Promise<string | undefined> {
  const { power } = policy.forTool(tool)
  if (power.shell.length === 0 || onlyReads !== undefined) return undefined
  if (host.changes === undefined) return 'this host keeps no record of changes'
  const stop = new AbortController()
  try {
    const late = () => new Error(LATE)
    return await within({ clock: host.clock, ms: COUNT_MS, late }, async () => host.whyUnrecorded?.(power, stop.signal))
  } catch {
    return LATE
  } finally {
    stop.abort()
  }
}
