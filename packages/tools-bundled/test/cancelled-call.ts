/** Where calls are cancelled: a workspace with `f.txt` ("before") and `sparse` (256 GB), and what waits for ever. */
export interface CancelPlace {
  readonly workspace: string
  /** The address of a server that never answers. */
  readonly server: string
  /** How many questions, tasks and requests the call has made. */
  readonly begun: { readonly questions: number; readonly tasks: number; readonly requests: number }
  /** Names of the child processes of the host. */
  children(): readonly string[]
}

/** A call that is cancelled. `test/cancelled.ts` in the folder of a tool has one. */
export interface CancelledCall {
  args(place: CancelPlace): object
  /** Whether the call has come far enough to be cancelled. Default: at once. */
  reached?(place: CancelPlace): boolean
  /** What must be true after that. */
  holds?(place: CancelPlace): boolean
}
