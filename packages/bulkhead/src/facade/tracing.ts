import { traceTools, type EventSource } from '@bulkhead/bridges/otel'
import { CORE_VERSION } from './version.ts'

/** A span for every call, in a program that has OpenTelemetry and has set it up by now. Returns what ends it. */
export async function traceWherePresent(host: EventSource): Promise<() => void> {
  if (!(REGISTERED in globalThis)) return () => undefined
  const api = await import('@opentelemetry/api').catch(() => undefined)
  if (api === undefined) return () => undefined
  const nowhere = new api.ProxyTracerProvider()
  // The API alone makes spans that go nowhere, and they are not free.
  if (kindOf(api.trace.getTracerProvider()) === kindOf(nowhere)) return () => undefined
  return traceTools(host, {
    tracer: api.trace.getTracer('bulkhead', CORE_VERSION), within: (span) => api.trace.setSpan(api.ROOT_CONTEXT, span),
  })
}

/** Where the API keeps what a program has set up, so that all copies of one major version share it. Absent: nothing was. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** What stands behind the provider that the API hands out. */
const kindOf = (provider: object): unknown =>
  ('getDelegate' in provider && typeof provider.getDelegate === 'function' ? provider.getDelegate() as object : provider).constructor
