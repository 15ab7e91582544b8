import type { ConnectedExtension, Diagnostic } from '@bulkhead/contract'

/** What a bridge offers now, as extensions. */
export interface Offered {
  readonly extensions: readonly ConnectedExtension[]
  readonly diagnostics: readonly Diagnostic[]
}
