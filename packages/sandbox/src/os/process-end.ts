import { constants } from 'node:os'

/** Some have two names; the first is the one Node uses. */
const SIGNALS: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).toReversed().map(([name, number]) => [number, name]),
)

/** How a process ended, in words. One that stood in for another, as `bwrap` does, says by 128 + n that signal n ended that. */
export function processEnd(code: number | null, signal: string | null): string {
  return signal ?? SIGNALS.get((code ?? 0) - 128) ?? `code ${code}`
}
