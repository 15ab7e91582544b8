import { createInterface } from 'node:readline'
import { BulkheadError } from '@bulkhead/contract'
import { openChaosHost } from './open-host.ts'

/**
 * A host of the chaos test in its own process. Each line of its input is JSON: `[id, method, ...arguments]`. Each line
 * of its output is `{ id, result }` or `{ id, error }`.
 */
const [folder = '', cache = '', given = '{}'] = process.argv.slice(2)
const { url } = JSON.parse(given) as { readonly url: string }
const { methods } = await openChaosHost(folder, cache, url)

const say = (word: object) => process.stdout.write(`${JSON.stringify(word)}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const [id, method, ...args] = JSON.parse(line) as [number, string, ...never[]]
  void (async () => methods[method]!(...args))().then(
    (result) => say({ id, result: result ?? null }),
    (thrown: unknown) => say({ id, error: BulkheadError.from(thrown).code }),
  )
})
say({ id: 0, result: 'ready' })
