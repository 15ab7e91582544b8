import { BulkheadError } from '@bulkhead/contract'
import type { Fault } from './result.ts'

/** What is wrong with a package, as one error for whoever hands it over: each thing with its file, and cures that are its own. */
export function faultError(faults: readonly Fault[]): BulkheadError {
  const first = faults[0]!
  const said = faults.map(({ file, message }, index) => file === undefined || message.includes(file) || file === faults[index - 1]?.file
    ? message : `${file}: ${message}`)
  const cures = new Set(faults.flatMap(({ cure }) => cure ?? []))
  return new BulkheadError(first.code, [...said, ...cures].join(' '), { data: { stage: first.stage, path: first.path } })
}
