import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { beginning } from '../call.ts'
import { onAbort } from '../cancellation.ts'
import type { HostContext } from '../host-context.ts'
import { runCall } from '../pipeline.ts'
import { pauseFor, type RunningCall } from '../running-calls.ts'
import type { ToolCall } from '../stages/receive.ts'

/** Makes a call on behalf of a tool that is running. Contract: never rejects. */
export type NestedCaller = (by: RunningCall, call: Omit<ToolCall, 'id'>, signal: AbortSignal) => Promise<Outcome>

/** `host` is asked for when a call is made: extensions are prepared before the host is whole. */
export function createNestedCaller(host: () => HostContext): NestedCaller {
  let count = 0
  return async (by, { name, arguments: args }, signal) => {
    const { call } = by
    const ending = new AbortController()
    const end = () => ending.abort(call.signal.aborted ? call.signal.reason : orphaned(call.name))
    const forget = [onAbort(by.signal, end), onAbort(signal, end)]
    try {
      return await runCall({
        scope: {
          session: call.session,
          tools: call.tools,
          budget: call.budget,
          turn: call.turn,
          resumption: undefined,
          signal: ending.signal,
          progress: beginning(host().clock),
          parent: { tool: call.tool, depth: (call.parent?.depth ?? 0) + 1, pause: () => pauseFor(by) },
        },
        call: { id: `${call.id.slice(0, 100)}.${++count}`, name, arguments: args },
        timeoutMs: undefined,
      }, host())
    } finally {
      for (const off of forget) off()
    }
  }
}

const orphaned = (caller: string) => new BulkheadError('ToolCancelled', `The tool "${caller}", which made the call, has ended.`)
