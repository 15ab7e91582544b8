import type { ErrorCode } from './errors.ts'

/** The longest timer of the platform. A longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

interface LimitRow {
  /** The default; the configuration can change it. */
  readonly most: number
  readonly meaning: string
  /** The error when the limit is exceeded. Its `data.limit` is the name of the limit. */
  readonly error: ErrorCode
}

const row = (most: number, meaning: string, error: ErrorCode): LimitRow => Object.freeze({ most, meaning, error })

const MB = 1024 * 1024

/** Limits of one compartment. To add one, add a row; docs/reference/limits.md is generated from this table. */
export const COMPARTMENT_LIMITS = Object.freeze({
  heapMb: row(128, 'Heap of the thread of an extension, in MB.', 'CompartmentOutOfHeap'),
  memoryMb: row(512, 'Resident memory of the whole child process, in MB.', 'CompartmentOutOfMemory'),
  // More than one thread can use, because deadlines already limit its calls.
  cpuMs: row(
    15_000, 'Processor time of the whole child process in any ten seconds, in milliseconds.', 'CompartmentOverloaded',
  ),
  phaseMs: row(10_000, 'Time for one lifecycle phase, in milliseconds.', 'LifecycleTimeout'),
  startMs: row(10_000, 'Time until the code is imported, in milliseconds.', 'CompartmentStartTimeout'),
  graceMs: row(
    500, 'Time for a cancelled or overdue call to end before it is killed, in milliseconds.', 'CompartmentKilled',
  ),
  concurrentCalls: row(
    64, 'Calls running at once. Further calls wait until their deadline, up to 16 times as many from each session.',
    'TooManyCalls',
  ),
  concurrentCommands: row(
    8, 'Commands running at once. Further commands wait until their deadline, up to 16 times as many from each session.',
    'TooManyCalls',
  ),
  messageBytes: row(16 * 1024 * 1024, 'One message across the boundary, in bytes.', 'MessageTooLarge'),
  messagesPerSecond: row(20_000, 'Messages from the code in one second.', 'MessageFlood'),
  outstandingRequests: row(1_024, 'Capability calls of the code that are open at once.', 'TooManyRequests'),
  outputBytes: row(8 * 1024 * 1024, 'One result, in bytes of JSON.', 'OutputTooLarge'),
  logBytes: row(1024 * 1024, 'Size of the log, in bytes.', 'LogTruncated'),
  readBytes: row(2_000 * MB, 'Bytes that one call reads from files and response bodies.', 'TooManyBytesRead'),
  writtenBytes: row(1_000 * MB, 'Bytes that one call writes to files.', 'TooManyBytesWritten'),
  sentBytes: row(500 * MB, 'Bytes that one call sends to hosts and passes to commands as input.', 'TooManyBytesSent'),
  savedBytes: row(
    64 * MB, 'Bytes of one result that are saved to a file because a model cannot see all of it.', 'TooManyBytesSaved',
  ),
  nestedCalls: row(10_000, 'Calls to other tools that one call makes.', 'TooManyNestedCalls'),
} satisfies Record<string, LimitRow>)

export type CompartmentLimits = { readonly [Name in keyof typeof COMPARTMENT_LIMITS]: number }

export const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(COMPARTMENT_LIMITS).map(([name, { most }]) => [name, most]),
) as CompartmentLimits

/** Limits of a call that do not depend on its compartment. */
export const CALL_LIMITS = {
  /** Length of the id of a call. */
  idChars: 128,
  /** Ids of calls that a session remembers, to refuse a second call with one of them. */
  sessionIds: 100_000,
  /** Size of the arguments as JSON. */
  argumentChars: 1024 * 1024,
  argumentDepth: 32,
  argumentNodes: 50_000,
  defaultTimeoutMs: 30_000,
  maxTimeoutMs: 60 * 60 * 1000,
  attempts: 3,
  /** Seconds of pause after attempt n: this to the power of n. */
  backoffBase: 1.5,
  /** The most that is added to a pause at random. */
  jitterMs: 500,
  /** How many calls of one session may wait for an extension, for each call that may run. */
  waitingPerSlot: 16,
  approvalKeyBytes: 1_024,
  /** Uses of capabilities that the end of a call lists. */
  listedUses: 32,
  subagentDepth: 5,
  /** How often watchdogs and guards may change the arguments of one call. */
  argumentChanges: 4,
  /** Time for a watchdog, a guard or a before-hook. It is long because some of them ask a person. */
  policyMs: 10 * 60 * 1000,
  /** @deprecated Use `policyMs`. */
  judgeMs: 10 * 60 * 1000,
  /** How much of one result a model sees, unless its tool sets `maxOutput`. */
  shownBytes: 200 * 1024,
  /** Total size of the results of one session that are saved to files. */
  sessionSavedBytes: 1_000 * MB,
  /** An image or a sound costs a model as much as a page of text, regardless of its size. */
  shownImages: 20,
} as const

/** The most that a configuration may ask for, of processes and of threads. */
export const POOL_LIMITS = { spares: 256, most: 4_096 } as const

/** What is recorded before a command that may write, so that undo can put it back. Beyond it, nothing is. */
export const RECORD_LIMITS = {
  /** In all folders together. Links count too, and folders apart. */
  files: 20_000,
  /** What has to be copied. A file that the file system can clone does not count. */
  bytes: 256 * MB,
  folderDepth: 256,
} as const

/** Limits of a manifest and its package. */
export const MANIFEST_LIMITS = {
  manifestBytes: 256 * 1024,
  tools: 128,
  /** Of one server or API document. Its manifest is made, not written. */
  connectedTools: 2_048,
  descriptionChars: 4_096,
  schemaChars: 64 * 1024,
  schemaDepth: 24,
  subschemas: 1_000,
  /** Of all schemas of one manifest. */
  subschemasPerExtension: 4_000,
  inPlaceSubschemas: 2_000,
  patternChars: 1_024,
  files: 2_000,
  fileBytes: 16 * 1024 * 1024,
  packageBytes: 64 * 1024 * 1024,
} as const

/** Limits of answers by links and by a webhook. */
export const ANSWER_LIMITS = {
  webhookMs: 10_000,
  webhookAttempts: 4,
  bodyBytes: 256 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  linkMinutes: 24 * 60,
} as const

/** Limits of calls on workers. */
export const WORKER_LIMITS = {
  leaseMs: 5_000,
  /** While a lease lasts. */
  renewals: 5,
  capacity: 8,
  idleCompartments: 32,
  messageBytes: 400 * 1024,
  /** Above it, a result is sent in parts of this size. */
  partBytes: MB,
  resultBytes: 64 * MB,
  losses: 3,
  callMs: 3_600_000,
  skewMs: 300_000,
} as const

/** Limits of a server that offers tools over HTTP to MCP clients. */
export const MCP_HTTP_LIMITS = {
  connections: 512,
  /** The others are for clients with a token. */
  connectionsWithoutToken: 384,
  connectionsPerAddress: 64,
  connectionsPerToken: 128,
  headersMs: 10_000,
  requestMs: 60_000,
  bodyBytes: 10_000_000,
  sessionsPerToken: 32,
  /** What is kept of streams, for clients that connect again. */
  eventsPerSession: 1_000,
  eventBytesPerSession: 8_000_000,
  eventsPerToken: 4_000,
  eventBytesPerToken: 32_000_000,
} as const
