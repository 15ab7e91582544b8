import type { JsonObject } from '@bulkhead/kit/json'
import type { Layer } from '../model/names.ts'
import type { RequirementSet } from '../policy/requirements.ts'
import type { ToolKind, ToolMode } from '../policy/tool-mode.ts'
import type { LifecycleState } from '../model/lifecycle.ts'
import type { ConnectedServer } from './loader.ts'
import type { PowerItem } from '../policy/power-order.ts'
import type { SecretManifest } from '../validation/secrets.ts'

/** One callable tool as the host knows it: what a model is told, and what an operator must be able to see. */
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
  /** Which registration of it this is: rises when it is loaded again. */
  readonly generation: number
  readonly state: LifecycleState
  readonly integrity: IntegrityStatus
  /** Variables and secrets that the manifest of its extension names. */
  readonly env: readonly string[]
  readonly secrets: readonly SecretManifest[]
  /** All that it may do here, under the ceiling of the configuration. */
  readonly may: readonly PowerItem[]
  readonly packageDigest: string
  /** Layers whose tool of the same name this one hides, nearest first. */
  readonly shadows: readonly { readonly layer: Layer; readonly extension: string; readonly version: string }[]
  /** Set when another program offers it: which, and where that is. */
  readonly server?: Pick<ConnectedServer, 'kind' | 'name' | 'address' | 'unconfined'>
  /** Set when the manifest said `gated: false` and the requirements have effects. */
  readonly gatedByHost: boolean
}

/** bundled: ships with the host. unpinned: the bytes are hashed but nobody vouched for them. */
export type IntegrityStatus = 'bundled' | 'unpinned' | 'verified' | 'signed'
