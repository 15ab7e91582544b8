import type { JsonObject } from '@bulkhead/kit/json'
import type { LifecycleState } from '../model/lifecycle.ts'
import type { Layer, ToolKind, ToolMode } from '../model/names.ts'
import type { PowerItem } from '../policy/power-order.ts'
import type { RequirementSet, SecretManifest } from '../validation/requirements.ts'
import type { ConnectedServer, IntegrityStatus } from './loader.ts'

/** A callable tool as the host knows it. */
export interface ToolDefinition {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly requires: RequirementSet
  readonly mode: ToolMode
  readonly kind: ToolKind
  readonly gated: boolean
  readonly idempotent: boolean
  readonly executor: 'local' | 'remote'
}

/** A row of `bulkhead tools`. */
export interface ToolListing extends ToolDefinition {
  readonly layer: Layer
  readonly extension: string
  readonly version: string
  /** Increases each time the extension is loaded again. */
  readonly generation: number
  readonly state: LifecycleState
  readonly integrity: IntegrityStatus
  /** Variables and secrets that the manifest of its extension declares. */
  readonly env: readonly string[]
  readonly secrets: readonly SecretManifest[]
  /** Everything it may do, under the ceiling of the configuration. */
  readonly may: readonly PowerItem[]
  readonly packageDigest: string
  /** Lower layers whose tool of the same name this one replaces, nearest first. */
  readonly shadows: readonly { readonly layer: Layer; readonly extension: string; readonly version: string }[]
  /** Set if an external server offers the tool. */
  readonly server?: Pick<ConnectedServer, 'kind' | 'name' | 'address' | 'unconfined'>
  /** Set if the manifest has `gated: false` but the requirements have effects. */
  readonly gatedByHost: boolean
}
