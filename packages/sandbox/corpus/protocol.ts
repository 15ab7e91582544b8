import type { Outcome, Step, AttackPlacement } from './case.ts'
import type { TargetFacts } from './target/facts.ts'
import type { Layers } from './layers.ts'

/** Opens one compartment with these attacks and runs them one after the other. */
export interface Job {
  readonly attacks: readonly number[]
  readonly placement: AttackPlacement
  readonly layers: Layers
}

export type ToHost =
  | { readonly type: 'start'; readonly secret: string; readonly facts: TargetFacts; readonly heldPort: number }
  | { readonly type: 'job'; readonly job: Job }
  /** The target was checked: continue with the next attack. */
  | { readonly type: 'go' }
  | { readonly type: 'ping' }

export type FromHost =
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'begin'; readonly id: number }
  | { readonly type: 'step'; readonly id: number; readonly seen: Seen }
  | { readonly type: 'end'; readonly id: number; readonly aftermath: Aftermath }
  | { readonly type: 'idle' }

export type Seen = readonly [step: Step, outcome: Outcome]

/** The state of the host and of another extension after an attack. */
export interface Aftermath {
  /** The answer of the other extension, or why there is none. */
  readonly neighbour: string
  /** The most processor time between two turns of the host's event loop, in ms. */
  readonly lagMs: number
  /** The share of time for which the host's thread used the processor during the attack. */
  readonly busyShare: number
  /** Changes in the host's own realm and process. */
  readonly changed: readonly string[]
  /** Log lines, progress, updates and error messages that contain the secret. */
  readonly leaks: readonly string[]
  /** Characters in the longest error message. */
  readonly longestMessage: number
}
