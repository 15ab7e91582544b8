import type { ErrorCode } from '../../model/errors.ts'
import type { BulkheadEvent } from '../../model/events.ts'
import { isJsonObject } from '@bulkhead/kit/json'
import { endsRun } from '../reading.ts'
import { toSteerable, type SteerableToolCall, type SteerableToolResult } from '../steerable.ts'
import type { CallEvent, EventContext } from './event-context.ts'

export type SteerableEvent =
  | { readonly type: 'tool_call'; readonly toolCall: SteerableToolCall }
  | { readonly type: 'tool_result'; readonly id: string; readonly name: string; readonly result: SteerableToolResult }
  | { readonly type: 'budget_exhausted'; readonly message: string }
  | { readonly type: 'loader-hint'; readonly message: string }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'done' }

/** Nothing where steerable's stream has no such event. Without the outcome a result says no more than how it ended. */
export function toSteerableEvents(event: BulkheadEvent, context: EventContext = {}): readonly SteerableEvent[] {
  switch (event.type) {
    case 'ToolInvocationProposed': {
      const named = isJsonObject(event.args) ? event.args : { value: event.args }
      return [{ type: 'tool_call', toolCall: { id: event.callId, name: event.tool, arguments: named } }]
    }
    case 'ToolInvocationSucceeded': return [end(event, context, { success: true })]
    case 'ToolInvocationFailed': return [end(event, context, failed(event.errorCode, event.message))]
    case 'ToolInvocationCancelled': {
      const { errorCode, reason } = event
      const ended = end(event, context, failed(errorCode, reason))
      return errorCode === 'BudgetExhausted' ? [ended, { type: 'budget_exhausted', message: reason }] : [ended]
    }
    case 'ToolInvocationProgress': return [{ type: 'loader-hint', message: event.text }]
    case 'SuppressedError': return [{ type: 'error', error: `${event.source}: ${event.message}` }]
    case 'TurnEnded': return [{ type: 'done' }]
    default: return []
  }
}

const end = (event: CallEvent, { outcome }: EventContext, otherwise: SteerableToolResult): SteerableEvent =>
  ({ type: 'tool_result', id: event.callId, name: event.tool, result: outcome ? toSteerable(outcome) : otherwise })

const failed = (code: ErrorCode, error: string): SteerableToolResult =>
  ({ success: false, error, ...(endsRun(code) ? { terminal: true } : { needsFollowup: true }) })
