import type { CallLog, CallProgress, EventListener, EventType, Outcome, ToolDefinition } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

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
  /** Closes it here. Another host may continue it. */
  release?(): Promise<void>
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
  /** What it shares with other hosts of its store. Absent: each server has its own clients. */
  readonly replicas?: ReplicaRecords | undefined
}

/** What servers of one store share: which of them has which client. */
export interface ReplicaRecords {
  /** This process, and whether another one has ended. */
  readonly owner: { readonly id: string; isGone(id: string): boolean }
  read(key: string): Promise<Json | undefined>
  /** Atomic, also between processes. `change` may run more than once; undefined removes the record. */
  update(key: string, change: (stored: Json | undefined) => Json | undefined): Promise<Json | undefined>
}
