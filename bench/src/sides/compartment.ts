import type { BulkheadError, ToolInvocation } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import type { Runner, Side } from '../harness/subject.ts'
import { echoRequest } from '../loads/echo-request.ts'
import type { Payload } from '../loads/payload.ts'

/** One call of the echo tool. It can be cancelled, and creates a signal only on demand. */
class EchoCall implements ToolInvocation {
  readonly callId: string
  readonly tool = 'echo'
  readonly args: JsonObject
  cancel: ((reason: BulkheadError) => void) | undefined

  constructor(callId: string, args: JsonObject) {
    this.callId = callId
    this.args = args
  }

  get signal(): AbortSignal {
    const controller = new AbortController()
    this.cancel = (reason) => controller.abort(reason)
    return controller.signal
  }

  onCancel(listener: (reason: BulkheadError) => void): void {
    this.cancel = listener
  }
}

/** A tool in its compartment, called as the pipeline of the host does: each call can be cancelled separately. */
const compartmentIn = <const Placement extends 'thread' | 'process'>(placement: Placement, carried: Payload) => ({
  name: `compartment in a ${placement}`,
  answer: carried,
  start: async (): Promise<Runner> => {
    const sandbox = createSandbox({ workspace: '/' })
    const session = await sandbox.open(await echoRequest(placement))
    const died = session.ended.then((end): never => {
      throw end.kind === 'failed' ? end.error : new Error('it was closed')
    })
    died.catch(() => {}) // Rejects when the session is closed, which must not be an unhandled rejection.
    const run = (i: number) =>
      session.call(new EchoCall(`c${i}`, carried(i)))
    return { run, died, stop: () => sandbox.close() }
  },
} as const satisfies Side)

export const threadCompartmentOf = (carried: Payload) => compartmentIn('thread', carried)
export const processCompartmentOf = (carried: Payload) => compartmentIn('process', carried)
