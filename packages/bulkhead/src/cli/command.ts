export interface Command {
  readonly name: string
  /** One line of the list of commands. */
  readonly summary: string
  readonly usage: string
  readonly details: string
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(args: readonly string[]): Promise<number>
}
