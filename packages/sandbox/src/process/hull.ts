import type { ResourceLimits } from 'node:worker_threads'
import type { CompartmentLimits, CompartmentUse } from '@bulkhead/contract'
import { DEFAULT_LIMITS } from '@bulkhead/contract'
import type { CompartmentTerms, EndReport, Transport } from '../wire/protocol.ts'

/** Why a hull ended. */
export type HullExit =
  | { readonly kind: 'killed' }
  | { readonly kind: 'memory'; readonly limit: 'heapMb' | 'memoryMb'; readonly text: string }
  | { readonly kind: 'cpu'; readonly text: string }
  | { readonly kind: 'crashed'; readonly text: string; readonly stack?: string | undefined }

/** A child process or thread that belongs to one compartment. */
export interface Hull {
  readonly transport: Transport
  readonly ready: Promise<boolean>
  /** Settles once, never rejects, when no process and no thread of it is left. */
  readonly exited: Promise<HullExit>
  /** Never rejects; undefined if it has ended, or the system does not tell. Absent: unknown. */
  use?(): Promise<CompartmentUse | undefined>
  /** Idempotent. */
  kill(): void
}

/** The limits that are fixed when a hull starts. All others are set when it is assigned. */
export type HullShape = Pick<CompartmentLimits, 'heapMb' | 'memoryMb'>

/** A hull without an extension. It has no access to anything, and it does not keep the host alive. */
export interface EmptyHull {
  /** Of its process. */
  readonly pid?: number | undefined
  /** Whether an extension with these limits can use it. */
  fits(limits: HullShape): boolean
  /** Settles once, never rejects: true when it is locked down and waits, false when it ended before. */
  readonly ready: Promise<boolean>
  readonly exited: Promise<HullExit>
  /** Assigns it to an extension, even while it still starts. Called once at most. */
  assign(limits: CompartmentLimits): Hull
  /** Idempotent. */
  kill(): void
}

/** A start takes a small part of it. A process that got too few threads may hang forever. */
const READY_MS = 10_000

/** Whether it is ready in time. Does not keep the host alive. Never rejects. */
export function isReadyWithin({ ready }: Pick<EmptyHull, 'ready'>, ms = READY_MS): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), ms).unref()
    void ready.then((is) => {
      clearTimeout(late)
      resolve(is)
    })
  })
}

/** `spare`: no caller waits for it. */
export type StartHull = (shape: HullShape, spare: boolean) => EmptyHull

/**
 * With less, a thread with long strings spends a fifth of its time on garbage collection. Idle threads use none of it.
 */
const YOUNG_GENERATION_MB = 16

/** Plain data. */
export interface ThreadOptions {
  readonly execArgv: string[]
  readonly argv: string[]
  readonly env: Record<string, never>
  readonly trackUnmanagedFds: boolean
  readonly resourceLimits: ResourceLimits
}

/** Options for the thread of a compartment, in any process. */
export function threadOptions({ heapMb }: Pick<HullShape, 'heapMb'>, inspects = false): ThreadOptions {
  return {
    // -i: without it the permissions include the working directory.
    // --no-warnings: warnings use members of `process` that lockdown removes.
    execArgv: ['-i', '--permission', '--no-warnings', ...(inspects ? ['--allow-inspector'] : [])],
    env: {},
    argv: [],
    trackUnmanagedFds: false,
    resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  }
}

export function termsOf(limits: CompartmentLimits): CompartmentTerms {
  const { messageBytes, messagesPerSecond, outputBytes, outstandingRequests, cpuMs } = limits
  // An operator who sets a lower limit does not want processor time spent on waiting.
  const busyPoll = cpuMs >= DEFAULT_LIMITS.cpuMs
  return { messageBytes, messagesPerSecond, outputBytes, outstandingRequests, busyPoll }
}

/** The exit that a report describes. */
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
        : { kind: 'crashed', text: `uncaught error: ${report.message ?? '(no message)'}`, stack: report.stack }
    case 'exit':
      return { kind: 'crashed', text: `its thread ended with code ${report.code}` }
  }
}
