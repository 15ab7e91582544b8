import type { BulkheadError, Layer, LifecycleState } from '@bulkhead/contract'
import type { Extension } from './extension.ts'
import type { RegistryView } from '../registry/offered-tools.ts'

/** The status of one loaded extension, for operators. */
export interface ExtensionStatus {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  /** Where it stands, for people. */
  readonly location: string
  readonly generation: number
  readonly state: LifecycleState
  /** offered: its tools can be called. hidden: one of a layer above or a fault stands before it. leaving: replaced, and still busy. */
  readonly standing: 'offered' | 'hidden' | 'leaving'
  readonly tools: readonly string[]
  /** Calls bound to it, those that wait for a person too. */
  readonly calls: number
  /** Why it failed last, while it is not active again. */
  readonly fault?: BulkheadError
  /** How long it rests before it may be started again. */
  readonly restMs?: number
}

export function statusOf(extension: Extension, view: RegistryView, isLeaving: boolean): ExtensionStatus {
  const { descriptor: { id, version, layer, location, manifest }, generation, state, fault, restMs } = extension
  return {
    id, version, layer, location, generation, state,
    standing: isLeaving ? 'leaving' : view.serves(extension) ? 'offered' : 'hidden',
    tools: manifest.tools.map(({ name }) => name),
    calls: extension.leases.size,
    ...(fault ? { fault } : {}),
    ...(restMs > 0 ? { restMs } : {}),
  }
}
