import { readFileSync } from 'node:fs'
import { BulkheadError, type CompartmentSession, type Placement } from '@bulkhead/contract'

/** Ends whatever runs extensions, as brutally as its kind allows. Resolves when that is known here. */
export async function killHulls(placement: Placement, compartments: Iterable<CompartmentSession>): Promise<void> {
  if (placement !== 'process') {
    const crashed = new BulkheadError('CompartmentCrashed', 'The thread was killed.')
    await Promise.all(Array.from(compartments, (session) => session.close(crashed)))
    return
  }
  const doomed = new Set(children())
  for (const pid of doomed) process.kill(pid, 'SIGKILL')
  while (children().some((pid) => doomed.has(pid))) await new Promise<void>((resolve) => { setImmediate(resolve) })
}

/** Every process that was started here and not buried yet, spares too. */
export const children = (): readonly number[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
