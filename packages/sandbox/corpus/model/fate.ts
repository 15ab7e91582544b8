/** The effect of an attack on the host. */
export type HostFate =
  | { readonly kind: 'alive'; readonly aftermath: Aftermath }
  /** Its process ended. */
  | { readonly kind: 'died'; readonly how: string }
  /** Its event loop no longer turned. */
  | { readonly kind: 'blocked' }
  /** It answers, but cannot end the attack. */
  | { readonly kind: 'stuck' }
  /** It grew beyond all limits of the compartment. */
  | { readonly kind: 'swollen'; readonly megabytes: number }

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
