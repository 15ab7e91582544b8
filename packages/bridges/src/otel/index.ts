import type { BulkheadEvent, EventListener, EventOf, ToolListing } from '@bulkhead/contract'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'

/** By the conventions for generative AI. They are still in development and not in the stable constants, so they stand here. */
function callAttributes(event: EventOf<'ToolInvocationProposed'>, withArguments: boolean): Attributes {
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

const endAttributes = (event: EndEvent): Attributes =>
  event.type === 'ToolInvocationSucceeded' ? {} : { 'error.type': event.errorCode }

/** The required part of a host: it emits events in the async context of the caller. */
export interface EventSource {
  on(listener: EventListener): () => void
  /** What answers to a name, to tell what the tool says of itself. */
  tool?(name: string): Pick<ToolListing, 'description' | 'extension' | 'version'> | undefined
}

export interface TraceOptions {
  /** From `@opentelemetry/api`, in any version that the program uses: `trace.getTracer('bulkhead')`. */
  readonly tracer: Tracer
  /**
   * What a span is put into so that others begin below it: `(span) => trace.setSpan(ROOT_CONTEXT, span)`. Without it a call that a
   * tool makes is a trace of its own with a link to the call of that tool.
   */
  readonly within?: (span: Span) => Context
  /** Whether to record arguments as an attribute. They may contain sensitive data. */
  readonly arguments?: boolean
}

/** What the API calls them; a number keeps its values out of what is imported. */
const INTERNAL = 0
const ERROR = 2

type CallEvent = EventOf<'ToolInvocationProposed' | 'ToolInvocationDecided' | 'ToolInvocationChanged'> | EndEvent

/**
 * One span for each call, from its proposal to its end, below whatever span is active where the call is made; of a call that a tool
 * makes, below the call of that tool. Returns what ends the tracing; spans that are open then are ended as they are.
 */
export function traceTools(source: EventSource, { tracer, within, arguments: withArguments = false }: TraceOptions): () => void {
  const spans = new Map<string, Span>()
  const begin = (event: EventOf<'ToolInvocationProposed'>): void => {
    // A second call under the same id would otherwise keep the first span open for ever.
    spans.get(keyOf(event))?.end()
    spans.set(keyOf(event), start(event))
  }
  const start = (event: EventOf<'ToolInvocationProposed'>): Span => {
    const { tool, parentCallId } = event
    const [name, options] = [`execute_tool ${tool}`, { kind: INTERNAL, attributes: { ...callAttributes(event, withArguments), ...descriptionIn(source, event) } }]
    if (parentCallId === undefined) return tracer.startSpan(name, options)
    const parent = spans.get(keyOf({ ...event, callId: parentCallId }))
    if (parent && within) return tracer.startSpan(name, options, within(parent))
    // The active context here is the one in which the compartment was opened, possibly by another caller.
    return tracer.startSpan(name, { ...options, root: true, links: parent ? [{ context: parent.spanContext() }] : [] })
  }
  const end = (event: EndEvent): void => {
    const span = spans.get(keyOf(event))
    // One that was refused before it was understood has no span.
    if (span === undefined) return
    spans.delete(keyOf(event))
    span.setAttributes(endAttributes(event))
    if (event.type !== 'ToolInvocationSucceeded') span.setStatus({ code: ERROR, message: event.errorCode })
    span.end()
  }
  const off = source.on((event: BulkheadEvent) => {
    switch (event.type) {
      case 'ToolInvocationProposed':
        return begin(event)
      case 'ToolInvocationDecided':
        spans.get(keyOf(event))?.addEvent('bulkhead.decision', { decision: event.decision, stage: event.stage, source: event.source })
        return
      case 'ToolInvocationChanged': {
        const { subject, stage, source: by, before, after } = event
        spans.get(keyOf(event))?.addEvent('bulkhead.change', { subject, stage, source: by, before, after })
        return
      }
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        return end(event)
      default:
    }
  })
  return () => {
    off()
    for (const span of spans.values()) span.end()
    spans.clear()
  }
}

/** Of the very tool that was called: a call of a folder that was left, or of an older turn, may be of another. */
function descriptionIn(source: EventSource, { tool, origin }: EventOf<'ToolInvocationProposed'>): Attributes {
  const listing = origin === null ? undefined : source.tool?.(tool)
  const isMeant = listing?.extension === origin?.extension && listing?.version === origin?.version
  return listing !== undefined && isMeant ? { 'gen_ai.tool.description': listing.description } : {}
}

const keyOf = ({ sessionId, callId }: CallEvent): string => `${sessionId} ${callId}`
