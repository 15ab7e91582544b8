import type { WorkerOptions } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'
import type { HullReport } from '../wire/hull-protocol.ts'
import type { Transport } from '../wire/transport.ts'

/** Why a place ended: it was told to, it used too much memory, or it fell over. */
export type HullExit =
  | { readonly kind: 'killed' }
  | { readonly kind: 'memory'; readonly text: string }
  | { readonly kind: 'crashed'; readonly text: string }

/** A started place for one compartment. */
export interface Hull {
  readonly transport: Transport
  /** Settles once, never rejects, when no process and no thread of it is left. */
  readonly exited: Promise<HullExit>
  /** Idempotent. */
  kill(): void
}

/** How the thread of a compartment is started, in whichever process. Plain data. */
export function workerOptions({ heapMb }: Pick<CompartmentLimits, 'heapMb'>): WorkerOptions {
  return {
    // -i: without it the permission set silently includes the working folder.
    // --no-warnings: a warning is written by parts of `process` that lockdown takes away.
    execArgv: ['-i', '--permission', '--no-warnings'],
    env: {},
    argv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  }
}

/** What the end of a thread, or of the memory it may have, means. */
export function exitOf(report: HullReport, { heapMb, memoryMb }: Pick<CompartmentLimits, 'heapMb' | 'memoryMb'>): HullExit {
  switch (report.type) {
    case 'memory':
      return { kind: 'memory', text: `${report.usedMb} of ${memoryMb} MB of memory` }
    case 'error':
      return report.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? { kind: 'memory', text: `more than ${heapMb} MB of heap` }
        : { kind: 'crashed', text: `nobody caught an error: ${report.message ?? 'it has no message'}` }
    case 'exit':
      return { kind: 'crashed', text: `its thread ended with code ${report.code}` }
  }
}
