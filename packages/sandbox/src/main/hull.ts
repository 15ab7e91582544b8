import type { Transport } from '../wire/transport.ts'

/** Why a place ended: it was told to, it used too much memory, or it fell over. */
export type HullExit =
  | { readonly kind: 'killed' }
  | { readonly kind: 'memory'; readonly text: string }
  | { readonly kind: 'crashed'; readonly text: string }

/** A started place for one compartment. */
export interface Hull {
  readonly transport: Transport
  /** Settles once, never rejects, when no process and no thread of it is left. */
  readonly exited: Promise<HullExit>
  /** Idempotent. */
  kill(): void
}
