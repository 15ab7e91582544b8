export { traceTools, type EventSource, type TraceOptions } from './trace-tools.ts'
