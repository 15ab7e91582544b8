import { readFileSync } from 'node:fs'
import { BulkheadError, type CompartmentSession, type Placement } from '@bulkhead/contract'

/** Ends whatever runs extensions, as brutally as its kind allows. */
export function killHulls(placement: Placement, compartments: Iterable<CompartmentSession>): void {
  if (placement === 'process') {
    for (const pid of children()) killed(pid)
    return
  }
  const crashed = new BulkheadError('CompartmentCrashed', 'The thread was killed.')
  for (const session of compartments) void session.close(crashed)
}

/** Every process that was started here, spares too. */
export const children = (): readonly number[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
