import type { CallLog, CallProgress, EventListener, EventType, Outcome, ToolDefinition } from '@bulkhead/contract'

/** The part of a session that serving needs. */
export interface ServedSession {
  readonly id: string
  tools(): readonly ToolDefinition[]
  call(
    call: { readonly id: string; readonly name: string; readonly arguments: unknown },
    options: {
      readonly signal: AbortSignal
      readonly onProgress?: (progress: CallProgress) => void
      readonly onLog?: (line: CallLog) => void
    },
  ): Promise<Outcome>
  /** What background tasks have ended with, each once. */
  taskResults?(): readonly EndedTask[]
  close(): Promise<void>
}

/** A sub-agent that worked in the background. */
export interface EndedTask {
  readonly id: string
  readonly agent: string
  readonly outcome: Outcome
}

/** The part of a host that serving needs. */
export interface ServedHost {
  /** The tools to list for a session. Default: all. */
  offeredTools?(session: ServedSession): readonly ToolDefinition[]
  on(listener: EventListener, types: readonly EventType[]): () => void
}
