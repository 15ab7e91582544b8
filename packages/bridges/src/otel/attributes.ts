import type { Attributes } from '@opentelemetry/api'
import type { EventOf } from '@bulkhead/contract'

/** By the conventions for generative AI. They are still in development and not in the stable constants, so they stand here. */
export function callAttributes(event: EventOf<'ToolInvocationProposed'>, withArguments: boolean): Attributes {
  const { tool, callId, sessionId, origin, args } = event
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.type': 'extension',
    'gen_ai.conversation.id': sessionId,
    ...(origin === null ? {} : {
      'bulkhead.extension.id': origin.extension, 'bulkhead.extension.version': origin.version, 'bulkhead.layer': origin.layer,
    }),
    ...(withArguments ? { 'gen_ai.tool.call.arguments': JSON.stringify(args) } : {}),
  }
}

type EndEvent = EventOf<'ToolInvocationSucceeded'> | EventOf<'ToolInvocationFailed'> | EventOf<'ToolInvocationCancelled'>

export const endAttributes = (event: EndEvent): Attributes =>
  event.type === 'ToolInvocationSucceeded' ? {} : { 'error.type': event.errorCode }
