import type { ArgumentsReader, Clock } from '@bulkhead/contract'
import type { AuditTrail } from '../records/audit-trail.ts'
import type { EventBus } from '../records/events.ts'
import type { Leases } from '../model/leases.ts'
import type { PausedCalls } from './interaction/paused-calls.ts'
import type { TickOrder } from '../model/tick-order.ts'
import type { CallJournal } from '../records/call-journal.ts'
import type { MetricsRecorder } from '../records/metrics.ts'
import type { Registry } from '../extensions/registry/registry.ts'
import type { Sidecar } from '../records/timeouts.ts'

/** The host, as the steps of a call see it. */
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
  /** The open turns of every session. */
  readonly turns: Leases
  /** By the name of the tool. A reader, not the tool, says what a call would do. */
  readonly argumentsReaders: ReadonlyMap<string, ArgumentsReader>
  readonly workspace: string
  /** Canonical folders that no tool may write. */
  readonly neverWritten?: readonly string[]
  /** Follows the links of a path. */
  readonly realPath?: ((path: string) => string) | undefined
}
