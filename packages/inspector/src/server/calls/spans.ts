import type { CallPhase } from '@bulkhead/contract'
import type { Span } from '../../protocol.ts'

/** What the page says of the parts of a call. */
export const PHASES: Readonly<Record<CallPhase['kind'], string>> = {
  policy: 'rules and guards', person: 'waits for a person', queue: 'waits for its turn', start: 'start of its compartment',
  run: 'runs', settle: 'settles',
}

/** By their start. What is within a span follows it. */
export const inOrder = (spans: readonly Span[]): readonly Span[] => spans.toSorted((a, b) => a.fromMs - b.fromMs || a.depth - b.depth)
