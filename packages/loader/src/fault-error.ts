import { BulkheadError, ERRORS, givesAdvice } from '@bulkhead/contract'
import type { Fault } from './model/result.ts'

/** A longer list hides what to do about it. */
const MOST = 4

/** What is wrong with a package, as one error for whoever hands it over: each thing with its file, and what cures it. */
export function faultError(faults: readonly Fault[]): BulkheadError {
  const first = faults[0]!
  const told = faults.slice(0, MOST)
  const said = told.map(({ file, message }, index) => file === undefined || message.includes(file) || file === faults[index - 1]?.file
    ? message : `${file}: ${message}`)
  const text = [...said, ...(faults.length > MOST ? [`(and ${faults.length - MOST} more of the like)`] : [])].join(' ')
  const own = new Set(told.flatMap(({ cure }) => cure ?? []))
  // Whoever shows an error takes several sentences for advice enough.
  const cures = own.size === 0 && givesAdvice(text) ? [ERRORS[first.code].cure] : own
  return new BulkheadError(first.code, [text, ...cures].join(' '), { data: { stage: first.stage, path: first.path } })
}
