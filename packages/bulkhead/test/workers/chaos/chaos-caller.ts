import { createInterface } from 'node:readline'
import { BulkheadError } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { createHost } from '../../../src/index.ts'
import { shiftClock } from './clock.ts'
import { CONFIG, FLEET_TIMES, type FleetCall, homeOf } from './fleet-work.ts'

/**
 * A caller of the chaos test in its own process. Each line of its input is JSON: `[id, 'call', call]`. Each line of its
 * output is `{ id, result }` or `{ id, error }`.
 */
const [folder = '', cache = '', given = '{}'] = process.argv.slice(2)
const { url, name, ledger, clockMs } = JSON.parse(given) as {
  readonly url: string; readonly name: string; readonly ledger: string; readonly clockMs: number
}
shiftClock(clockMs)
const store = await openPostgresStore({ url }, FLEET_TIMES)
const host = await createHost({
  workspace: folder, home: homeOf(folder, name), cache, store, trust: 'declined', env: {}, config: CONFIG,
})
const SESSIONS = 4
const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, index) =>
  host.openSession({ principal: { id: `p${index}` }, mode: 'yolo' })))

const say = (word: object) => process.stdout.write(`${JSON.stringify(word)}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const [id, , { id: callId, tool, n }] = JSON.parse(line) as [number, string, FleetCall]
  const call = { id: callId, name: tool, arguments: { n, url: ledger }, idempotencyKey: `key-${n}` }
  sessions[n % SESSIONS]!.call(call).then(
    (result) => say({ id, result }),
    (thrown: unknown) => say({ id, error: BulkheadError.from(thrown).code }),
  )
})
say({ id: 0, result: 'ready' })
