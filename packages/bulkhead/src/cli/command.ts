export interface Command {
  readonly usage: string
  readonly details: string
  /** Resolves with the exit code. Throws UsageError for wrong usage. */
  run(args: readonly string[]): Promise<number>
}

/** The command line is invalid. Nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Signals that stop a command after its running calls are cancelled. A second signal ends the process at once. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
