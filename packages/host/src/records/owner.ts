/** Which process of those that share a store wrote a record. */
export interface Owner {
  /** Without `/`. */
  readonly id: string
  /** Whether the process with this id has ended. */
  isGone(id: string): boolean
}
