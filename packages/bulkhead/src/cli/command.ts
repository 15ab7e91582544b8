export interface Command {
  readonly usage: string
  readonly details: string
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(args: readonly string[]): Promise<number>
}
