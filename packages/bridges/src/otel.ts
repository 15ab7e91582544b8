import type { BulkheadEvent, EventListener, EventOf, ToolListing } from '@bulkhead/contract'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'
import { modelCallId } from './models/call-ids.ts'

/** The semantic conventions for generative AI. The API has no stable constants for them yet. */
function callAttributes(event: EventOf<'ToolInvocationProposed'>, withArguments: boolean): Attributes {
  const { tool, callId, sessionId, origin, args } = event
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.type': 'extension',
    'gen_ai.conversation.id': sessionId,
    ...(origin === null ? {} : {
      'bulkhead.extension.id': origin.extension, 'bulkhead.extension.version': origin.version,
      'bulkhead.layer': origin.layer,
    }),
    ...(withArguments ? { 'gen_ai.tool.call.arguments': JSON.stringify(args) } : {}),
  }
}

type EndEvent = EventOf<'ToolInvocationSucceeded' | 'ToolInvocationFailed' | 'ToolInvocationCancelled'>

const endAttributes = (event: EndEvent): Attributes =>
  event.type === 'ToolInvocationSucceeded' ? {} : { 'error.type': event.errorCode }

/** The part of a host that tracing needs. The host emits events in the async context of the caller. */
export interface EventSource {
  on(listener: EventListener): () => void
  /** Looks up a tool, for the description in its span. */
  tool?(name: string): Pick<ToolListing, 'description' | 'extension' | 'version'> | undefined
}

export interface TraceOptions {
  /** From the `@opentelemetry/api` of your program: `trace.getTracer('bulkhead')`. */
  readonly tracer: Tracer
  /**
   * Creates a context with a span: `(span) => trace.setSpan(ROOT_CONTEXT, span)`. Without it, a call made by a tool
   * starts its own trace, linked to the call of that tool.
   */
  readonly within?: (span: Span) => Context
  /**
   * The active span: `() => trace.getActiveSpan()`. With it, a call for which an agent SDK has created such a span has
   * no second one: what the host knows is added to that of the SDK.
   */
  readonly active?: () => Span | undefined
  /** Whether to record arguments as an attribute. They may contain sensitive data. */
  readonly arguments?: boolean
}

/** SpanKind and SpanStatusCode of the API, as numbers, so that only its types are imported. */
const INTERNAL = 0
const ERROR = 2

type CallEvent = EventOf<'ToolInvocationProposed' | 'ToolInvocationDecided' | 'ToolInvocationChanged'> | EndEvent

/** How to stop the tracing of a source. */
const traced = new WeakMap<EventSource, () => void>()

/**
 * Creates a span for each call, from its proposal to its end. The parent is the active span of the caller or, for a
 * call made by a tool, the span of that tool's call. Returns a disposer, which also ends open spans. Replaces an
 * earlier tracing of the source: `createHost` traces by itself if OpenTelemetry is set up.
 */
export function traceTools(
  source: EventSource, { tracer, within, active, arguments: withArguments = false }: TraceOptions,
): () => void {
  traced.get(source)?.()
  const spans = new Map<string, Span>()
  /** Of agent SDKs, which end them. */
  const adopted = new WeakSet<Span>()
  const finish = (span: Span): void => {
    if (!adopted.has(span)) span.end()
  }
  const begin = (event: EventOf<'ToolInvocationProposed'>): void => {
    // A second call with the same id would leave the first span open.
    const open = spans.get(keyOf(event))
    if (open) finish(open)
    spans.set(keyOf(event), start(event))
  }
  const start = (event: EventOf<'ToolInvocationProposed'>): Span => {
    const { tool, callId, parentCallId } = event
    const name = `execute_tool ${tool}`
    const attributes = { ...callAttributes(event, withArguments), ...descriptionIn(source, event) }
    const options = { kind: INTERNAL, attributes }
    const current = parentCallId === undefined ? active?.() : undefined
    if (current && isSpanOf(current, callId)) {
      adopted.add(current)
      return current.setAttributes(attributes)
    }
    if (parentCallId === undefined) return tracer.startSpan(name, options)
    const parent = spans.get(keyOf({ ...event, callId: parentCallId }))
    if (parent && within) return tracer.startSpan(name, options, within(parent))
    // Do not use the active context: the compartment may have been opened by another caller.
    return tracer.startSpan(name, { ...options, root: true, links: parent ? [{ context: parent.spanContext() }] : [] })
  }
  const end = (event: EndEvent): void => {
    const span = spans.get(keyOf(event))
    // A call that was rejected early has no span.
    if (span === undefined) return
    spans.delete(keyOf(event))
    span.setAttributes(endAttributes(event))
    if (event.type !== 'ToolInvocationSucceeded') span.setStatus({ code: ERROR, message: event.errorCode })
    finish(span)
  }
  const off = source.on((event: BulkheadEvent) => {
    switch (event.type) {
      case 'ToolInvocationProposed':
        return begin(event)
      case 'ToolInvocationDecided':
        spans.get(keyOf(event))?.addEvent(
          'bulkhead.decision', { decision: event.decision, stage: event.stage, source: event.source },
        )
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
  const stop = (): void => {
    off()
    if (traced.get(source) === stop) traced.delete(source)
    for (const span of spans.values()) finish(span)
    spans.clear()
  }
  traced.set(source, stop)
  return stop
}

/** Whether the span is that of the call, by the same conventions. Spans of OpenTelemetry's SDK show their attributes. */
function isSpanOf(span: Span, callId: string): boolean {
  const { attributes = {} } = span as { readonly attributes?: Attributes }
  return attributes['gen_ai.operation.name'] === 'execute_tool'
    && attributes['gen_ai.tool.call.id'] === modelCallId(callId)
}

/** The description, if the current tool of that name is the one that was called. */
function descriptionIn(source: EventSource, { tool, origin }: EventOf<'ToolInvocationProposed'>): Attributes {
  const listing = origin === null ? undefined : source.tool?.(tool)
  const isMeant = listing?.extension === origin?.extension && listing?.version === origin?.version
  return listing !== undefined && isMeant ? { 'gen_ai.tool.description': listing.description } : {}
}

const keyOf = ({ sessionId, callId }: CallEvent): string => `${sessionId} ${callId}`
