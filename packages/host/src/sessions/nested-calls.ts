import { BulkheadError, type Outcome } from '@bulkhead/contract'
import { onAbort } from '../model/cancellation.ts'
import type { HostContext } from '../policy/host-context.ts'
import { runCall } from '../calls/pipeline.ts'
import { pauseFor, type RunningCall } from '../calls/running-call.ts'
import type { ToolCall } from '../calls/receive.ts'
import { CancelScope } from '../model/cancel-scope.ts'

/** Makes a call on behalf of a tool that is running. Contract: never rejects. */
export type NestedCaller = (by: RunningCall, call: Omit<ToolCall, 'id'>, signal: AbortSignal) => Promise<Outcome>

/** `host` is asked for when a call is made: extensions are prepared before the host is whole. */
export function createNestedCaller(host: () => HostContext): NestedCaller {
  let count = 0
  return (by, { name, arguments: args }, signal) => {
    const { call } = by
    const { session, tools, budget, turn } = call.scope
    const cancel = new CancelScope()
    const end = () => cancel.cancel(call.scope.cancel.reason ?? orphaned(call.name))
    const forget = [onAbort(by.signal, end), onAbort(signal, end)]
    const parent = { callId: call.id, tool: call.tool, callers: [...call.callers, call.tool], running: by, pause: () => pauseFor(by) }
    return runCall({
      scope: {
        session, tools, budget, turn, cancel, parent, resumption: undefined, ended: () => forget.forEach((off) => off()),
      },
      call: { id: `${call.id.slice(0, 100)}.${++count}`, name, arguments: args },
      timeoutMs: undefined,
    }, host())
  }
}

const orphaned = (caller: string) => new BulkheadError('ToolCancelled', `The tool "${caller}", which made the call, has ended.`)
