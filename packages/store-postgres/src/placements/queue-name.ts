import { createHash } from 'node:crypto'
import type { WorkerDemand } from '@bulkhead/contract'

const DIGITS = 32

/** One queue for all calls that the same workers can serve. */
export function queueOf({ labels, workspace, major }: WorkerDemand): string {
  const text = JSON.stringify([labels.toSorted(), workspace ?? null, major])
  return `calls-${createHash('sha256').update(text).digest('hex').slice(0, DIGITS)}`
}
