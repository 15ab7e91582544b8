import type { ResourceLimits } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { EndReport } from '../wire/hull-protocol.ts'
import type { Transport } from '../wire/transport.ts'
import type { CompartmentTerms } from '../wire/worker-start.ts'

/** Why a place ended: it was told to, it used more than it may, or it fell over. */
export type HullExit =
  | { readonly kind: 'killed' }
  | { readonly kind: 'memory'; readonly limit: 'heapMb' | 'memoryMb'; readonly text: string }
  | { readonly kind: 'cpu'; readonly text: string }
  | { readonly kind: 'crashed'; readonly text: string }

/** The place of one compartment. */
export interface Hull {
  readonly transport: Transport
  readonly ready: Promise<boolean>
  /** Settles once, never rejects, when no process and no thread of it is left. */
  readonly exited: Promise<HullExit>
  /** Idempotent. */
  kill(): void
}

/** What is fixed when a place is started. All other limits are told when it is assigned. */
export type HullShape = Pick<CompartmentLimits, 'heapMb' | 'memoryMb'>

/** A place that nobody has yet: without power, and like any other of its shape. It does not keep the host alive. */
export interface EmptyHull {
  /** Whether an extension with these limits may have it. */
  fits(limits: HullShape): boolean
  /** Settles once, never rejects: with true when it is locked down and waits, with false when it ended before that. */
  readonly ready: Promise<boolean>
  readonly exited: Promise<HullExit>
  /** Makes it the place of one extension, also while it still starts. Called once at most. */
  assign(limits: CompartmentLimits): Hull
  /** Idempotent. */
  kill(): void
}

/** `spare`: nobody waits for it yet. */
export type StartHull = (shape: HullShape, spare: boolean) => EmptyHull

/** Of a thread, at most: with less, long texts make it spend a fifth of its time on collecting them. Idle ones use none of it. */
const YOUNG_GENERATION_MB = 16

/** Plain data. */
export interface ThreadOptions {
  readonly execArgv: string[]
  readonly argv: string[]
  readonly env: Record<string, never>
  readonly trackUnmanagedFds: boolean
  readonly resourceLimits: ResourceLimits
}

/** How the thread of a compartment is started, in whichever process. */
export function threadOptions({ heapMb }: Pick<HullShape, 'heapMb'>): ThreadOptions {
  return {
    // -i: without it the permission set silently includes the working folder.
    // --no-warnings: a warning is written by parts of `process` that lockdown takes away.
    execArgv: ['-i', '--permission', '--no-warnings'],
    env: {},
    argv: [],
    trackUnmanagedFds: false,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  }
}

export function termsOf(limits: CompartmentLimits): CompartmentTerms {
  const { messageBytes, messagesPerSecond, outputBytes, outstandingRequests, cpuMs } = limits
  // Whoever allows it less time than is usual does not want that spent on waiting.
  const staysAwake = cpuMs >= DEFAULT_LIMITS.cpuMs
  return { messageBytes, messagesPerSecond, outputBytes, outstandingRequests, staysAwake }
}

/** What the end of a thread, or of what it may use, means. */
export function exitOf(
  report: EndReport,
  { heapMb, memoryMb, cpuMs }: Pick<CompartmentLimits, 'heapMb' | 'memoryMb' | 'cpuMs'>,
): HullExit {
  switch (report.type) {
    case 'memory':
      return { kind: 'memory', limit: 'memoryMb', text: `${report.usedMb} of ${memoryMb} MB of memory` }
    case 'cpu':
      return { kind: 'cpu', text: `${report.usedMs} of ${cpuMs} ms in ten seconds` }
    case 'error':
      return report.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? { kind: 'memory', limit: 'heapMb', text: `more than ${heapMb} MB of heap` }
        : { kind: 'crashed', text: `nobody caught an error: ${report.message ?? 'it has no message'}` }
    case 'exit':
      return { kind: 'crashed', text: `its thread ended with code ${report.code}` }
  }
}
