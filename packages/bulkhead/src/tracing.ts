import { traceTools, type EventSource } from '@bulkhead/bridges/otel'
import { CORE_VERSION } from './version.ts'

/** A span for every call, in a program that has OpenTelemetry. Returns what ends it. */
export async function traceWherePresent(host: EventSource): Promise<() => void> {
  const api = await import('@opentelemetry/api').catch(() => undefined)
  return api === undefined ? () => undefined : traceTools(host, { tracer: api.trace.getTracer('bulkhead', CORE_VERSION) })
}
