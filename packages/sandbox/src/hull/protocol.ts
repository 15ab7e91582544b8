import type { CompartmentLimits } from '@bulkhead/contract'
import type { WorkerStart } from '../worker/start.ts'

/** The one line the host writes to a hull. */
export interface HullStart {
  readonly boot: string
  readonly worker: Omit<WorkerStart, 'port'>
  readonly limits: Pick<CompartmentLimits, 'heapMb' | 'memoryMb'>
}

/** The lines a hull writes to its host. All but the first are its last. */
export interface HullReport {
  readonly type: 'started' | 'memory' | 'crashed'
  readonly text?: string
}
