import { format } from 'node:util'
import type { Log } from '@bulkhead/contract/author'

/** A console whose lines go to the host's log. It has no streams behind it. */
export function logConsole(write: (level: keyof Log, text: string) => void): object {
  const line = (level: keyof Log) => (...values: readonly unknown[]): void => write(level, format(...values))
  const quiet = (): void => undefined
  return Object.freeze({
    debug: line('debug'), log: line('info'), info: line('info'), warn: line('warn'), error: line('error'), trace: line('debug'),
    dir: line('info'), table: line('info'), group: quiet, groupCollapsed: quiet, groupEnd: quiet, time: quiet, timeEnd: quiet,
    timeLog: quiet, count: quiet, countReset: quiet, clear: quiet,
    assert: (condition: unknown, ...values: readonly unknown[]) => condition || line('error')('Assertion failed:', ...values),
  })
}
