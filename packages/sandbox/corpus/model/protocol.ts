import type { Outcome, Step, AttackPlacement } from './case.ts'
import type { TargetFacts } from '../target/facts.ts'
import type { Aftermath } from './fate.ts'
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
