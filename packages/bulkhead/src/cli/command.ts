export interface Command {
  readonly usage: string
  readonly details: string
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(args: readonly string[]): Promise<number>
}

/** The command line itself is wrong; nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** By these a command is asked to end: what it runs is ended first. A second one ends it at once. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
