/** What may be known of a result when asking whether it ends the run. */
export interface CompletionHint {
  readonly success?: boolean | undefined
  readonly terminal?: boolean | undefined
  readonly needsFollowup?: boolean | undefined
}

/** Terminal: said so, or failed without asking for another try. Nothing at all is not terminal. */
export function isTerminalResult(result: CompletionHint | null | undefined): boolean {
  if (result === null || result === undefined) return false
  return result.terminal === true || (result.success === false && result.needsFollowup !== true)
}
