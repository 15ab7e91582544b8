import type { MessagePort } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'

/** Where a socket to the host waits, in a hull of its own. */
export const CHANNEL_FD = 4

/** One module of the code that runs in a compartment: its text, and where each of its imports leads. */
export interface ImageModule {
  readonly url: string
  readonly source: string
  readonly imports: readonly (readonly [specifier: string, url: string])[]
}

/** What the worker is started with. Plain data, and the port when it shares a process with its host. */
export interface WorkerStart {
  readonly modules: readonly ImageModule[]
  readonly entry: string
  readonly authorUrl: string
  readonly limits: Pick<CompartmentLimits, 'messageBytes' | 'outputBytes' | 'outstandingRequests'>
  readonly port?: MessagePort
}
