import type { WorkerOptions } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'

/** What a hull is started with, as its only argument: its worker starts while all else is still being read. */
export interface HullStart {
  /** The first lines of its worker. */
  readonly boot: string
  readonly options: WorkerOptions
}

/** The first line the host writes to a hull: all that its worker needs to wait, locked down, for an extension. */
export interface HullHandover {
  readonly author: string
  readonly script: string
  readonly cacheBase64: string
  readonly spare: boolean
}

/** The second and last line: what the extension may use that has it from now on. Whose it is does not matter to a hull. */
export type HullAssignment = Pick<CompartmentLimits, 'memoryMb' | 'cpuMs'>

/** What a hull writes to its host, one line each. */
export type HullReport = { readonly type: 'ready' } | EndReport

/** Why it ends. The first is the cause, others follow from it. */
export type EndReport =
  | { readonly type: 'memory'; readonly usedMb: number }
  | { readonly type: 'cpu'; readonly usedMs: number }
  | { readonly type: 'error'; readonly code?: string; readonly message?: string }
  | { readonly type: 'exit'; readonly code: number }
