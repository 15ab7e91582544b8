import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BulkheadError, type CompartmentSession, type Placement } from '@bulkhead/contract'

/** Kills everything that runs extensions. Resolves when the host knows. */
export async function killHulls(placement: Placement, compartments: Iterable<CompartmentSession>): Promise<void> {
  if (placement !== 'process') {
    const crashed = new BulkheadError('CompartmentCrashed', 'The thread was killed.')
    await Promise.all(Array.from(compartments, (session) => session.close(crashed)))
    return
  }
  const doomed = new Set(children())
  for (const pid of doomed) process.kill(pid, 'SIGKILL')
  while (children().some((pid) => doomed.has(pid))) await sleep(2)
}

/** Every child process that still exists, spares too. */
export const children = (): readonly number[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
