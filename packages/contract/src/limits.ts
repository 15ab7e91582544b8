/** Bounds on what one compartment may use. Each has its own error, so that a publisher knows which one was met. */
export interface CompartmentLimits {
  /** V8's old generation of the tool's thread, in MB. → CompartmentOutOfMemory */
  readonly heapMb: number
  /** Resident memory of the whole hull, in MB, under the process placement. → CompartmentOutOfMemory */
  readonly memoryMb: number
  /** Processor time of the whole hull in any ten seconds, in ms, under the process placement. → CompartmentOverloaded */
  readonly cpuMs: number
  /** Wall time of one lifecycle phase, in ms. → LifecycleTimeout */
  readonly phaseMs: number
  /** Wall time from asking for a compartment to its code being imported, in ms. → LifecycleTimeout */
  readonly startMs: number
  /** How long a cancelled or overdue call may take to end by itself before its compartment is killed, in ms. */
  readonly graceMs: number
  /** Calls running at once in one compartment. → TooManyCalls */
  readonly concurrentCalls: number
  /** One frame or message across the boundary, in bytes. → BoundaryViolation */
  readonly messageBytes: number
  /** Messages from the compartment in one second. → BoundaryViolation */
  readonly messagesPerSecond: number
  /** Capability calls of the compartment waiting for the broker at once. → BoundaryViolation */
  readonly outstandingRequests: number
  /** One result of a tool, in bytes of JSON. → OutputTooLarge */
  readonly outputBytes: number
  /** Log text kept per compartment, in bytes; the rest is dropped and counted. */
  readonly logBytes: number
}

export const DEFAULT_LIMITS: CompartmentLimits = {
  heapMb: 128,
  memoryMb: 512,
  // More than one thread alone can use: its calls are bounded by their deadlines.
  cpuMs: 15_000,
  phaseMs: 10_000,
  startMs: 10_000,
  graceMs: 500,
  concurrentCalls: 64,
  messageBytes: 16 * 1024 * 1024,
  messagesPerSecond: 20_000,
  outstandingRequests: 1_024,
  outputBytes: 8 * 1024 * 1024,
  logBytes: 1024 * 1024,
}

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
