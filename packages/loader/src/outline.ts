import type { Manifest } from '@bulkhead/contract'

/** What of a manifest is needed to see an extension beside the others. At hand where the rest of it is not. */
export interface Outline {
  readonly id: string
  readonly version: string
  /** The names of its tools, in their order. */
  readonly tools: readonly string[]
  readonly dependsOn: readonly string[]
  readonly keepsState: boolean
}

export const outlineOf = ({ id, version, tools, dependsOn, stateSlot }: Manifest): Outline =>
  ({ id, version, tools: tools.map(({ name }) => name), dependsOn, keepsState: stateSlot !== null })
