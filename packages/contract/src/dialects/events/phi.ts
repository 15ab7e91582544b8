import type { BulkheadEvent, EventOf } from '../../model/events.ts'
import type { Json } from '@bulkhead/kit/json'
import { toPhi, toPhiMessage, type PhiToolError, type PhiToolResult, type PhiToolResultMessage } from '../phi.ts'
import type { CallEvent, EventContext } from './event-context.ts'

interface PhiCall {
  readonly loop_id: string
  readonly tool_call_id: string
  readonly tool_name: string
}
export type PhiEvent =
  | (PhiCall & { readonly type: 'ToolExecutionStart'; readonly args: Json })
  | (PhiCall & { readonly type: 'ToolExecutionUpdate'; readonly partial_result: Json })
  | (PhiCall & { readonly type: 'ProgressMessage'; readonly text: string })
  | (PhiCall & {
    readonly type: 'ToolExecutionEnd'
    readonly result: PhiToolResult | PhiToolError | null
    readonly is_error: boolean
    readonly child_loop_id: string | null
  })
  | { readonly type: 'MessageStart' | 'MessageEnd'; readonly loop_id: string; readonly message: PhiToolResultMessage }

type EndEvent = EventOf<'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>

/**
 * What phi tells where we tell one thing; nothing where it has no such event. A call begins and ends once, however often it is
 * tried. One that never began, as a hook vetoed it or somebody refused, has neither start nor end there: only its result is told.
 */
export function toPhiEvents(event: BulkheadEvent, context: EventContext = {}): readonly PhiEvent[] {
  switch (event.type) {
    case 'ToolInvocationStarted':
      return event.attempt > 1 ? [] : [{ type: 'ToolExecutionStart', ...phiCall(event), args: context.args ?? null }]
    case 'ToolInvocationUpdated': return [{ type: 'ToolExecutionUpdate', ...phiCall(event), partial_result: event.partial }]
    case 'ToolInvocationProgress': return [{ type: 'ProgressMessage', ...phiCall(event), text: event.text }]
    case 'ToolInvocationSucceeded':
    case 'ToolInvocationFailed': return [end(event, context), ...told(event, context)]
    case 'ToolInvocationCancelled': return [...(hasBegun(event) ? [end(event, context)] : []), ...told(event, context)]
    default: return []
  }
}

/** A call that gave way to a message of the user is told as begun without an attempt. */
const hasBegun = ({ attempt, errorCode }: EventOf<'ToolInvocationCancelled'>): boolean =>
  attempt > 0 || errorCode === 'SkippedBySteering'

const phiCall = ({ sessionId, callId, tool }: CallEvent): PhiCall =>
  ({ loop_id: sessionId, tool_call_id: callId, tool_name: tool })

const isError = ({ type }: EndEvent): boolean => type !== 'ToolInvocationSucceeded'

const end = (event: EndEvent, { outcome }: EventContext): PhiEvent => ({
  type: 'ToolExecutionEnd',
  ...phiCall(event),
  result: outcome ? toPhi(outcome) : null,
  is_error: isError(event),
  child_loop_id: outcome?.metadata.child_loop_id ?? null,
})

function told(event: EndEvent, { outcome }: EventContext): readonly PhiEvent[] {
  const timestamp = Date.parse(event.at)
  const message = outcome ? toPhiMessage(outcome, timestamp) : {
    role: 'toolResult' as const, toolCallId: event.callId, toolName: event.tool, content: contentOf(event), isError: isError(event), timestamp,
  }
  const { sessionId: loop_id } = event
  return [{ type: 'MessageStart', loop_id, message }, { type: 'MessageEnd', loop_id, message }]
}

/** Of a success nothing is known without its outcome. */
function contentOf(event: EndEvent): PhiToolResultMessage['content'] {
  if (event.type === 'ToolInvocationSucceeded') return []
  return [{ type: 'text', text: event.type === 'ToolInvocationFailed' ? event.message : event.reason }]
}
