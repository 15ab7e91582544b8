// Programs of tests import this: it must not import what belongs to a process of vitest, such as its cache.
import { setTimeout as pause } from 'node:timers/promises'
import { BulkheadError } from '@bulkhead/contract'

/** Until the server answers. */
export async function insist<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!BulkheadError.is(error)) throw error
      await pause(50)
    }
  }
}
