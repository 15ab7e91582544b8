import type { ErrorCode } from './errors.ts'

/** One bound, as `docs/reference/limits.md` tells it. */
export interface LimitRow {
  /** Unless the configuration says otherwise. */
  readonly most: number
  readonly meaning: string
  /** What whoever meets it is told; `data.limit` of the error is the name of the bound. */
  readonly error: ErrorCode
}

const row = (most: number, meaning: string, error: ErrorCode): LimitRow => Object.freeze({ most, meaning, error })

const MB = 1024 * 1024

/** Bounds on what one compartment may use. Adding one is adding a row; docs/reference/limits.md is written from this table. */
export const COMPARTMENT_LIMITS = Object.freeze({
  heapMb: row(128, 'Heap of the thread of a tool, in MB.', 'CompartmentOutOfHeap'),
  memoryMb: row(512, 'Resident memory of the whole child process, in MB.', 'CompartmentOutOfMemory'),
  // More than one thread alone can use: its calls are bounded by their deadlines.
  cpuMs: row(15_000, 'Processor time of the whole child process in any ten seconds, in milliseconds.', 'CompartmentOverloaded'),
  phaseMs: row(10_000, 'Time for one lifecycle phase, in milliseconds.', 'LifecycleTimeout'),
  startMs: row(10_000, 'Time until the code is imported, in milliseconds.', 'CompartmentStartTimeout'),
  graceMs: row(500, 'Time for a cancelled or overdue call to end by itself, in milliseconds.', 'CompartmentKilled'),
  concurrentCalls: row(64, 'Calls running at once. Further calls wait until their deadline, up to 16 times as many from each session.', 'TooManyCalls'),
  messageBytes: row(16 * 1024 * 1024, 'One message across the boundary, in bytes.', 'MessageTooLarge'),
  messagesPerSecond: row(20_000, 'Messages from the code in one second.', 'MessageFlood'),
  outstandingRequests: row(1_024, 'Capability calls of the code waiting at once.', 'TooManyRequests'),
  outputBytes: row(8 * 1024 * 1024, 'One result, in bytes of JSON.', 'OutputTooLarge'),
  logBytes: row(1024 * 1024, 'Log text that is kept, in bytes.', 'LogTruncated'),
  readBytes: row(2_000 * MB, 'Bytes that one call reads from files and from bodies of responses.', 'TooManyBytesRead'),
  writtenBytes: row(1_000 * MB, 'Bytes that one call writes to files.', 'TooManyBytesWritten'),
  sentBytes: row(500 * MB, 'Bytes that one call sends to hosts and gives to commands as input.', 'TooManyBytesSent'),
  savedBytes: row(64 * MB, 'Bytes of one result that are saved to a file because they are too many for a model.', 'TooManyBytesSaved'),
  nestedCalls: row(10_000, 'Calls of other tools that one call makes.', 'TooManyNestedCalls'),
} satisfies Record<string, LimitRow>)

export type CompartmentLimits = { readonly [Name in keyof typeof COMPARTMENT_LIMITS]: number }

export const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(COMPARTMENT_LIMITS).map(([name, { most }]) => [name, most]),
) as CompartmentLimits

/** Numbers of the call itself, apart from where it runs. */
export const CALL_LIMITS = {
  /** Arguments a model may send, as JSON. */
  argumentChars: 1024 * 1024,
  argumentDepth: 32,
  argumentNodes: 50_000,
  defaultTimeoutMs: 30_000,
  maxTimeoutMs: 60 * 60 * 1000,
  attempts: 3,
  approvalKeyBytes: 1_024,
  subagentDepth: 5,
  /** How often the arguments of one call may be changed by those who judge it. */
  argumentChanges: 4,
  /** How long a watchdog, a guard or a before-hook may take. Some of them ask a person by ways of their own. */
  judgeMs: 10 * 60 * 1000,
  /** What of one result a model is shown, unless its tool says otherwise by `maxOutput`. */
  shownBytes: 200 * 1024,
  /** All results of one session that are saved to files. */
  sessionSavedBytes: 1_000 * MB,
  /** Each costs a model as much as a page of text, however few bytes it has. */
  shownImages: 20,
} as const

/** What a manifest may hold; beyond it the folder is refused unread. */
export const MANIFEST_LIMITS = {
  manifestBytes: 256 * 1024,
  tools: 128,
  descriptionChars: 4_096,
  files: 2_000,
  fileBytes: 16 * 1024 * 1024,
  packageBytes: 64 * 1024 * 1024,
} as const
