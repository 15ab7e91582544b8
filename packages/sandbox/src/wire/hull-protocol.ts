import type { WorkerOptions } from 'node:worker_threads'
import type { WorkerStart } from './worker-start.ts'

/** The one line the host writes to a hull. */
export interface HullStart {
  readonly boot: string
  readonly options: WorkerOptions
  readonly workerData: Omit<WorkerStart, 'port'>
  readonly memoryMb: number
}

/** What a hull writes to its host before it ends, one line each. The first is the cause, the others follow from it. */
export type HullReport =
  | { readonly type: 'memory'; readonly usedMb: number }
  | { readonly type: 'error'; readonly code?: string; readonly message?: string }
  | { readonly type: 'exit'; readonly code: number }
