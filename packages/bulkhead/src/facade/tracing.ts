import { traceTools } from '@bulkhead/bridges/otel'
import type { Host } from '@bulkhead/host'
import { CORE_VERSION } from './version.ts'

/** Creates a span for every call if OpenTelemetry is set up in this process. Returns a disposer. */
export async function traceWherePresent(host: Pick<Host, 'on'> & Partial<Pick<Host, 'tool'>>): Promise<() => void> {
  if (!(REGISTERED in globalThis)) return () => undefined
  const api = await import('@opentelemetry/api').catch(() => undefined)
  if (api === undefined) return () => undefined
  const nowhere = new api.ProxyTracerProvider()
  // Without a provider the API creates no-op spans, which still cost time.
  if (kindOf(api.trace.getTracerProvider()) === kindOf(nowhere)) return () => undefined
  return traceTools(host, {
    tracer: api.trace.getTracer('bulkhead', CORE_VERSION), within: (span) => api.trace.setSpan(api.ROOT_CONTEXT, span),
    active: () => api.trace.getActiveSpan(),
  })
}

/** The global that all copies of the API share. Absent if OpenTelemetry is not set up. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** The class of the real provider behind the proxy. */
function kindOf(provider: object): unknown {
  const isProxy = 'getDelegate' in provider && typeof provider.getDelegate === 'function'
  return (isProxy ? (provider as { getDelegate(): object }).getDelegate() : provider).constructor
}
