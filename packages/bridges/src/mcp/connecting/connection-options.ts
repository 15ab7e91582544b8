import type { BulkheadError, Interact } from '@bulkhead/contract'
import type { Surroundings } from '../../connected/local-server.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { McpEmbedder } from './server-requests.ts'

export interface ConnectionOptions {
  readonly surroundings: Surroundings
  /** Our name and version for the server. */
  readonly self: { readonly name: string; readonly version: string }
  readonly embedder: McpEmbedder
  /** The folder for tokens. Default: they are kept in memory. */
  readonly credentials: string | undefined
  /** The cached list of tools. */
  readonly cached: Catalog | undefined
  /** Called when a list of the server has changed. `hasNewTools`: the tools have. Must not throw. */
  onCatalog(catalog: Catalog, hasNewTools: boolean): void
  /** Called when the server could not be started or reached. Must not throw. */
  onStartFault(fault: BulkheadError): void
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number
  /** Timeout for connecting and listing the tools. */
  readonly connectMs?: number
}

export interface CallContext {
  readonly signal: AbortSignal
  readonly interact?: Interact
  progress(text: string): void
}
