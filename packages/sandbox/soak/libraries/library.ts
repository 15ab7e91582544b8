import type { Json, JsonObject } from '@bulkhead/kit/json'

/** A package of npm that fits a tool, and one real thing that a tool does with it. */
export interface Library {
  readonly name: string
  readonly version: string
  /** One phrase for the table in the guide. */
  readonly does: string
  /** What the tool declares. `$place` is the host and port of the server on loopback. */
  readonly requires?: JsonObject
  readonly env?: readonly string[]
  /** The imports of the tool. */
  readonly imports: string
  /** The body of `execute`, with `base` (the URL of the server) in scope. */
  readonly body: string
  readonly returns?: Json
  /** Why a package cannot work, what to use, and parts of the message that says so. */
  readonly fails?: { readonly because: string; readonly instead: string; readonly message: readonly string[] }
  /** What differs from the usual import. */
  readonly note?: string
}
