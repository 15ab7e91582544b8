import type { Outcome, Step, AttackPlacement } from './case.ts'
import type { GroundFacts } from './ground/facts.ts'
import type { Layers } from './layers.ts'

/** What the runner tells a host to do: open one compartment with these attacks in it and run them one by one. */
export interface Job {
  readonly attacks: readonly number[]
  readonly placement: AttackPlacement
  readonly layers: Layers
}

export type ToHost =
  | { readonly type: 'start'; readonly secret: string; readonly facts: GroundFacts; readonly heldPort: number }
  | { readonly type: 'job'; readonly job: Job }
  /** The ground was looked at; go on with the next attack. */
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

/** How the host and the neighbour are once an attack is over. */
export interface Aftermath {
  /** What became of the neighbour: its answer, or why there is none. */
  readonly neighbour: string
  /** The most that the host's thread took of the processor between two turns of its event loop, in ms. */
  readonly lagMs: number
  /** The share of the time that its thread took of the processor while it was attacked. */
  readonly busyShare: number
  /** What is no longer as it was in the host's own realm and process. */
  readonly changed: readonly string[]
  /** Whether the secret was in a log line, a progress text, an update or a message of an error. */
  readonly told: readonly string[]
  /** The longest message of an error that came out of it. */
  readonly longestMessage: number
}
