import { OpenTelemetry } from '@ai-sdk/otel'
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Span } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { BulkheadEvent, EventBody, EventListener } from '@bulkhead/contract'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { traceTools } from '../../src/otel.ts'
import { dynamicTool, generateText, isStepCount, jsonSchema, scriptedModel } from '../ai-sdk/scripted-model.ts'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const tracer = provider.getTracer('bulkhead')

beforeAll(() => { context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()) })
afterAll(() => context.disable())
beforeEach(() => exporter.reset())

/** A host whose events the test emits. */
function source() {
  const listeners = new Set<EventListener>()
  return {
    on(listener: EventListener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    emit(body: EventBody) {
      for (const listener of listeners) listener({ ...body, at: '2026-01-01T00:00:00.000Z' } as BulkheadEvent)
    },
    get listeners() { return listeners.size },
  }
}

const origin = { layer: 'global', extension: 'weather', version: '1.2.3', digest: 'd' } as const
const call = { sessionId: 's1', callId: 'c1', tool: 'forecast', origin }

it('creates one span per call below the active span, with the attributes of the conventions', () => {
  const host = source()
  traceTools(host, { tracer })
  const outer = tracer.startSpan('agent')
  context.with(trace.setSpan(context.active(), outer), () => {
    host.emit({ type: 'ToolInvocationProposed', ...call, arguments: { city: 'Oslo' }, args: { city: 'Oslo' } })
  })
  host.emit({
    type: 'ToolInvocationDecided', ...call, decision: 'allow', stage: 'rules', source: 'no rule', reason: '',
    approvalKey: 'k', arguments: {}, args: {},
  })
  host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
  const [span] = exporter.getFinishedSpans()
  expect(span).toMatchObject({
    name: 'execute_tool forecast', kind: SpanKind.INTERNAL, status: { code: SpanStatusCode.UNSET },
    attributes: {
      'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'forecast', 'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.type': 'extension', 'gen_ai.conversation.id': 's1', 'bulkhead.extension.id': 'weather',
      'bulkhead.extension.version': '1.2.3', 'bulkhead.layer': 'global',
    },
    events: [{ name: 'bulkhead.decision', attributes: { decision: 'allow', stage: 'rules', source: 'no rule' } }],
  })
  expect(span!.parentSpanContext?.spanId).toBe(outer.spanContext().spanId)
  expect(span!.attributes).not.toHaveProperty('gen_ai.tool.call.arguments')
})

it('adds what the host knows to the span of an agent SDK, and creates no second one', async () => {
  const host = source()
  traceTools(host, { tracer, active: () => trace.getActiveSpan() })
  const execute = async (_: unknown, { toolCallId }: { readonly toolCallId: string }) => {
    // The model used the id before, so the host knows the call by another one.
    const known = { ...call, callId: `${toolCallId}~0123456789ab` }
    host.emit({ type: 'ToolInvocationProposed', ...known, arguments: {}, args: {} })
    await Promise.resolve()
    host.emit({
      type: 'ToolInvocationFailed', ...known, durationMs: 5, errorClass: 'ToolTerminal', errorCode: 'NotFound',
      message: 'no',
    })
    return 'no such city'
  }
  await generateText({
    model: scriptedModel([{ id: 'c1', name: 'forecast', input: {} }]), prompt: 'Go.', stopWhen: isStepCount(2),
    tools: { forecast: dynamicTool({ inputSchema: jsonSchema({ type: 'object' }), execute }) },
    telemetry: { integrations: [new OpenTelemetry({ tracer })] },
  })
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'execute_tool forecast')
  expect(spans).toMatchObject([
    {
      status: { code: SpanStatusCode.ERROR },
      attributes: {
        'bulkhead.extension.id': 'weather', 'error.type': 'NotFound', 'gen_ai.tool.call.result': '"no such city"',
      },
    },
  ])
})

it('replaces an earlier tracing of the same host', () => {
  const host = source()
  const first = traceTools(host, { tracer })
  const second = traceTools(host, { tracer })
  const emitCall = () => {
    host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
    host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
  }
  emitCall()
  expect(exporter.getFinishedSpans()).toHaveLength(1)
  first()
  emitCall()
  expect(exporter.getFinishedSpans()).toHaveLength(2)
  second()
  expect(host.listeners).toBe(0)
})

it.each([
  ['the description of its tool', { extension: 'weather', version: '1.2.3' }, 'Tells the weather.'],
  ['no description if the name belongs to another tool', { extension: 'weather', version: '2.0.0' }, undefined],
  ['no description if the tool is gone', undefined, undefined],
])('a span has %s', (_, found, description) => {
  const host = source()
  traceTools(
    { ...host, tool: (name) => found && { ...found, description: name === 'forecast' ? 'Tells the weather.' : '' } },
    { tracer },
  )
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
  host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
  expect(exporter.getFinishedSpans()[0]!.attributes['gen_ai.tool.description']).toBe(description)
})

it('places a call made by a tool below the call of that tool, or links it', () => {
  for (const options of [{ within: (span: Span) => trace.setSpan(ROOT_CONTEXT, span) }, {}]) {
    exporter.reset()
    const host = source()
    traceTools(host, { tracer, ...options })
    host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
    context.with(trace.setSpan(context.active(), tracer.startSpan('another span')), () => {
      host.emit({
        type: 'ToolInvocationProposed', ...call, callId: 'c1.1', parentCallId: 'c1', arguments: {}, args: {},
      })
    })
    host.emit({ type: 'ToolInvocationSucceeded', ...call, callId: 'c1.1', durationMs: 5 })
    host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
    const [inner, outer] = exporter.getFinishedSpans()
    const parent = 'within' in options ? inner!.parentSpanContext : inner!.links[0]?.context
    expect(parent?.spanId).toBe(outer!.spanContext().spanId)
    expect(inner!.parentSpanContext === undefined).toBe(!('within' in options))
  }
})

it('records arguments if the option is set', () => {
  const host = source()
  traceTools(host, { tracer, arguments: true })
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: { city: 'Oslo' }, args: { city: 'Oslo' } })
  host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
  expect(exporter.getFinishedSpans()[0]!.attributes['gen_ai.tool.call.arguments']).toBe('{"city":"Oslo"}')
})

it.each([
  {
    type: 'ToolInvocationFailed', ...call, durationMs: 5, errorClass: 'ToolTerminal', errorCode: 'NotFound',
    message: 'no',
  },
  { type: 'ToolInvocationCancelled', ...call, durationMs: 5, attempt: 0, errorCode: 'NotFound', reason: 'no' },
] as const)('marks a span as failed for $type', (end) => {
  const host = source()
  traceTools(host, { tracer })
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
  host.emit(end)
  expect(exporter.getFinishedSpans()).toMatchObject([
    { attributes: { 'error.type': 'NotFound' }, status: { code: SpanStatusCode.ERROR, message: 'NotFound' } },
  ])
})

it('records a change by digests only', () => {
  const host = source()
  traceTools(host, { tracer })
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
  const change = { subject: 'arguments', stage: 'watchdog', source: 'watchdog tidy', before: 'a', after: 'b' } as const
  host.emit({ type: 'ToolInvocationChanged', ...call, ...change, reason: 'a secret was in them' })
  host.emit({ type: 'ToolInvocationSucceeded', ...call, durationMs: 5 })
  expect(exporter.getFinishedSpans()[0]!.events).toMatchObject([{ name: 'bulkhead.change', attributes: change }])
})

it('keeps calls apart, and ends open spans when tracing stops', () => {
  const host = source()
  const stop = traceTools(host, { tracer })
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
  host.emit({ type: 'ToolInvocationProposed', ...call, callId: 'c2', arguments: {}, args: {} })
  host.emit({ type: 'ToolInvocationProposed', ...call, arguments: {}, args: {} })
  host.emit({
    type: 'ToolInvocationCancelled', ...call, callId: 'never proposed', durationMs: 0, attempt: 0,
    errorCode: 'InputInvalid', reason: '',
  })
  expect(exporter.getFinishedSpans()).toHaveLength(1)
  stop()
  expect(exporter.getFinishedSpans()).toHaveLength(3)
  expect(host.listeners).toBe(0)
})
