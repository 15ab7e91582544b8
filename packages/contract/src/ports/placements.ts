import type { Json } from '@bulkhead/kit/json'
import type { BegunEffect } from './work.ts'

/** What a worker tells callers about itself. Written by the worker, so it proves nothing. */
export interface WorkerInfo {
  /** Unique, now and later. */
  readonly id: string
  /** Sorted, each `gpu` or `region=eu`. It serves each call that demands some of them, or none. */
  readonly labels: readonly string[]
  /** Of Bulkhead. Workers of another major version do not serve a caller. */
  readonly version: string
  readonly machine: string
  readonly pid: number
  /** How many calls it runs at once. */
  readonly capacity: number
  /** The workspaces that it has, by name. */
  readonly workspaces: readonly string[]
}

/** `silent`: its heartbeat is late. `draining`: it takes no further call. */
export type WorkerState = 'ready' | 'draining' | 'silent'

export interface ListedWorker extends WorkerInfo {
  readonly state: WorkerState
  /** The calls that it has now. */
  readonly load: number
  /** Milliseconds since 1970. */
  readonly since: number
  /** The age of its heartbeat. */
  readonly silentMs: number
}

/** What a call demands of its worker. */
export interface WorkerDemand {
  /** Sorted. */
  readonly labels: readonly string[]
  readonly workspace?: string
  /** The major version of the caller. */
  readonly major: number
}

/** One call, as the store keeps it for a worker. The store reads none of its texts. */
export interface PlacedRequest {
  /** Unique, now and later. */
  readonly id: string
  readonly demand: WorkerDemand
  /** How its caller finds it again, and the host that settles the calls of a caller that is gone. */
  readonly sessionId: string
  readonly callId: string
  /** A call that no worker has begun by then is not begun. In milliseconds from now, by the clock of the store. */
  readonly deadlineMs: number
  /** Signed by the caller, for this epoch. */
  readonly ticket: string
  /** What the digests of the ticket cover: arguments, definition, limits. */
  readonly body: Uint8Array
}

export type PlacedEnd =
  /** Signed by the worker. */
  | { readonly is: 'settled'; readonly result: Uint8Array }
  /** The worker lost its lease. `begun`: what it noted. It begins nothing more: the epoch is closed. */
  | { readonly is: 'lost'; readonly worker: string; readonly begun: BegunEffect | undefined }
  /**
   * No worker took this attempt, and none that could is left, or the deadline has passed. It is not begun any more. What an
   * attempt before it had begun, its `lost` said.
   */
  | { readonly is: 'untaken'; readonly workers: readonly ListedWorker[] }

/** Called by the store. Contract: must not throw. */
export interface PlacedListener {
  onTaken(worker: string): void
  /** From the worker of this epoch. Each once, in order. */
  onMessage(message: Json): void
  /** The first effect was noted. */
  onBegun(effect: BegunEffect): void
  /** Once for each epoch. */
  onEnd(end: PlacedEnd): void
}

/** A call of this host that was placed. */
export interface PlacedCall {
  readonly id: string
  readonly epoch: number
  /** To its worker. Rejects with StoreUnavailable. */
  send(message: Json): Promise<void>
  /** The worker gets the order to end it. Its end follows as a result, or as lost. */
  cancel(): Promise<void>
  /**
   * After `lost` without an effect: places it again under the next epoch, in one transaction with the test that no
   * effect was noted. `repeats`: the call may run twice, and a noted effect does not count. Resolves with whether it was
   * placed. The listener hears of the new epoch from then on.
   */
  again(ticket: string, options?: { readonly repeats?: boolean }): Promise<boolean>
  /** Removes everything of it. Its worker begins nothing more. Idempotent. */
  forget(): Promise<void>
}

/** The calls of one host on workers, as the store has them. Every method rejects with StoreUnavailable. */
export interface Placements {
  /** Whose calls these are, by the login of this host. Empty: of the main one. */
  readonly tenant: string
  workers(): Promise<readonly ListedWorker[]>
  /** Whether the bytes of a package with this digest are there. Anyone who can write the store can replace them. */
  hasPackage(digest: string): Promise<boolean>
  writePackage(digest: string, bytes: Uint8Array): Promise<void>
  /** `call`: the id of the placed call that needs it. Each tenant has packages of its own. Default: those of this host. */
  readPackage(digest: string, call?: string): Promise<Uint8Array | undefined>
  /** The listener may be called before this resolves. It ends with `untaken` at once if no ready worker fits. */
  place(request: PlacedRequest, listener: PlacedListener): Promise<PlacedCall>
  /**
   * Closes the epochs of a call whose caller is gone: no worker begins anything for it from then on. Resolves with what
   * had begun. Its worker gets the order to end it.
   */
  close(sessionId: string, callId: string): Promise<readonly BegunEffect[]>
  /** Serves calls until `close` of the seat. */
  serve(worker: WorkerInfo, onCall: (call: LeasedCall) => void): Promise<WorkerSeat>
}

/** A call that this worker has the lease of. The lease is renewed together with all others of the worker. */
export interface LeasedCall {
  readonly id: string
  /** Whose call it is, by the login of its caller. Empty: of the main one. */
  readonly tenant: string
  readonly epoch: number
  readonly ticket: string
  readonly body: Uint8Array
  /** Aborted if the lease is lost, with `LeaseLost`, or if the caller cancels. */
  readonly signal: AbortSignal
  /** From the caller. Each once, in order. Contract: must not throw. */
  listen(listener: (message: Json) => void): void
  send(message: Json): Promise<void>
  /**
   * Before each effect: notes the first one, and checks lease and epoch by the clock of the store in the same statement.
   * Rejects if they are not held any more, or with StoreUnavailable; then the effect must not begin.
   */
  begin(effect: BegunEffect): Promise<void>
  /** Resolves with whether it counted: it does not if the epoch is over. */
  settle(result: Uint8Array): Promise<boolean>
}

export interface WorkerSeat {
  /** Takes no further call. Resolves when the running ones have settled. */
  drain(): Promise<void>
  /** Gives up the leases and removes the worker. Idempotent. */
  close(): Promise<void>
}
