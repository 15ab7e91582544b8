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
  /** What it returns, or in `fails` the parts of the error of a package that cannot work. */
  readonly returns?: Json
  readonly fails?: { readonly because: string; readonly message: readonly string[] }
}
