import { createInterface } from 'node:readline'
import { BulkheadError } from '@bulkhead/contract'
import { type CallerTerms, openCaller } from './caller.ts'
import { shiftClock } from './clock.ts'
import type { FleetCall } from './fleet-work.ts'

/**
 * A caller of the chaos test in its own process. Each line of its input is JSON: `[id, 'call', call]`. Each line of its
 * output is `{ id, result }` or `{ id, error }`.
 */
const [folder = '', cache = '', given = '{}'] = process.argv.slice(2)
const terms = JSON.parse(given) as CallerTerms
shiftClock(terms.clockMs ?? 0)
const caller = await openCaller(folder, cache, terms)

const say = (word: object) => process.stdout.write(`${JSON.stringify(word)}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const [id, , call] = JSON.parse(line) as [number, string, FleetCall]
  caller.call(call).then(
    (result) => say({ id, result }),
    (thrown: unknown) => say({ id, error: BulkheadError.from(thrown).code }),
  )
})
say({ id: 0, result: 'ready' })
