import { BulkheadError, type Sandbox } from '@bulkhead/contract'

/**
 * A sandbox that is made when the first compartment is opened: whoever only looks at tools does without it, and without all that
 * it is made of. What cannot be made is tried again by the next opening.
 */
export function lateSandbox(make: () => Promise<Sandbox>): Sandbox {
  let making: Promise<Sandbox> | undefined
  let closed = false
  return {
    async open(request) {
      if (closed) throw new BulkheadError('HostClosed', 'The sandbox is closed.')
      making ??= make().catch((error: unknown) => {
        making = undefined
        throw error
      })
      return (await making).open(request)
    },
    async close() {
      closed = true
      await (await making?.catch(() => undefined))?.close()
    },
  }
}
