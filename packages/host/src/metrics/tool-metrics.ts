import type { BulkheadEvent, ErrorCode, EventOf, EventType } from '@bulkhead/contract'
import { Histogram, type HistogramSnapshot } from './histogram.ts'

/** What became of the calls of one tool of one extension. */
export interface ToolMetrics {
  readonly tool: string
  readonly extension: string
  readonly layer: string
  readonly succeeded: number
  readonly failed: number
  /** Refused before they ran, or stopped. */
  readonly cancelled: number
  readonly byCode: ReadonlyMap<ErrorCode, number>
  /** Of all that ran to an end, whichever it was. */
  readonly durationMs: HistogramSnapshot
}

/** What it listens for. */
export const COUNTED: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
])

type EndEvent = EventOf<'ToolInvocationSucceeded'> | EventOf<'ToolInvocationFailed'> | EventOf<'ToolInvocationCancelled'>

interface Counts {
  readonly names: Pick<ToolMetrics, 'tool' | 'extension' | 'layer'>
  succeeded: number
  failed: number
  cancelled: number
  readonly byCode: Map<ErrorCode, number>
  readonly durations: Histogram
}

/** Counts what happens. Names that no tool has are not counted: a model could make up any number of them. */
export class MetricsRecorder {
  readonly #tools = new Map<string, Counts>()

  /** A listener of events. */
  readonly hear = (event: BulkheadEvent): void => {
    switch (event.type) {
      case 'ToolInvocationSucceeded':
      case 'ToolInvocationFailed':
      case 'ToolInvocationCancelled':
        this.#count(event)
        return
      default:
    }
  }

  snapshot(): readonly ToolMetrics[] {
    return [...this.#tools.values()].map(({ names, succeeded, failed, cancelled, byCode, durations }) => ({
      ...names, succeeded, failed, cancelled, byCode: new Map(byCode), durationMs: durations.snapshot(),
    }))
  }

  #count(event: EndEvent): void {
    const { origin, tool } = event
    if (origin === null) return
    const key = `${origin.layer} ${origin.extension} ${tool}`
    let counts = this.#tools.get(key)
    if (counts === undefined) {
      const names = { tool, extension: origin.extension, layer: origin.layer }
      counts = { names, succeeded: 0, failed: 0, cancelled: 0, byCode: new Map(), durations: new Histogram() }
      this.#tools.set(key, counts)
    }
    if (event.type === 'ToolInvocationSucceeded') counts.succeeded++
    else {
      if (event.type === 'ToolInvocationFailed') counts.failed++
      else counts.cancelled++
      counts.byCode.set(event.errorCode, (counts.byCode.get(event.errorCode) ?? 0) + 1)
    }
    if (event.type !== 'ToolInvocationCancelled') counts.durations.record(event.durationMs)
  }
}
