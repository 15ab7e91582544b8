import type { ArgumentsReader, Clock } from '@bulkhead/contract'
import type { AuditTrail } from '../records/audit-trail.ts'
import type { EventBus } from '../records/events.ts'
import type { Leases } from '../model/leases.ts'
import type { PausedCalls } from './interaction/paused-calls.ts'
import type { TickOrder } from '../model/tick-order.ts'
import type { CallJournal } from '../records/call-journal.ts'
import type { MetricsRecorder } from '../records/metrics.ts'
import type { Registry } from '../extensions/registry/registry.ts'
import type { Sidecar } from '../records/sidecar.ts'

/** What the stages of a call know of the host. */
export interface HostContext {
  readonly registry: Registry
  readonly events: EventBus
  readonly clock: Clock
  readonly metrics: MetricsRecorder
  readonly journal: CallJournal
  readonly audit: () => AuditTrail | undefined
  readonly order: TickOrder
  readonly paused: PausedCalls
  readonly sidecar: Sidecar | undefined
  /** Turns that are open, in every session. */
  readonly turns: Leases
  /** By the name of the tool; what a call of it stands for is told by these and not by the tool. */
  readonly argumentsReaders: ReadonlyMap<string, ArgumentsReader>
  readonly workspace: string
  /** Canonical folders that no tool writes. */
  readonly neverWritten?: readonly string[]
  /** A path with its links followed. */
  readonly realPath?: ((path: string) => string) | undefined
}
