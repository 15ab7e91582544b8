/** Which process of those that share a store wrote a record, and what other hosts may know about it. */
export interface Owner {
  /** Without `/`. */
  readonly id: string
  /** Whether the process with this id has ended. For stores that do not know it. */
  isGone(id: string): boolean
  readonly pid?: number
  /** The name of the machine or container. */
  readonly machine?: string
  readonly version?: string
}

/** Who writes claims into records, and whether another one has ended. */
export interface Claimant {
  readonly id: string
  /** Whether it is the present or an earlier id of this host, which joins again under another one when it loses its seat. */
  isOwn(id: unknown): boolean
  /** Resolves when it has a seat: without one, others take its claims for void. Rejects with StoreUnavailable. */
  join(): Promise<{ readonly id: string }>
  /** Rejects with StoreUnavailable. */
  isGone(id: string): Promise<boolean>
}
