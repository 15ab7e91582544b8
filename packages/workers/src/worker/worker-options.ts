import type {
  Ceiling, CompartmentLimits, ExtensionDescriptor, Placements, Sandbox, VariableValues,
} from '@bulkhead/contract'
import type { Fleet } from '../keys/fleet-file.ts'
import type { MachineKey } from '../keys/machine-key.ts'

/** Where the code of a call runs on this machine. */
export interface WorkerPlace {
  readonly sandbox: Sandbox
  /** The values of the variables here. Without a workspace, no path below it is granted. */
  readonly variables: VariableValues
}

export interface WorkerOptions {
  readonly placements: Placements
  readonly key: MachineKey
  /** Read for each call. Throws ConfigInvalid. */
  readonly fleet: () => Fleet
  /** The version of Bulkhead. */
  readonly version: string
  readonly labels: readonly string[]
  /** How many calls run at once. */
  readonly capacity: number
  /** By name. */
  readonly workspaces: ReadonlyMap<string, WorkerPlace>
  /** For calls without a workspace. */
  readonly bare: WorkerPlace
  /** All of them apply to each call. */
  readonly ceilings: readonly Ceiling[]
  /** Limits that a caller cannot raise. */
  readonly limits: { readonly [Name in keyof CompartmentLimits]?: number | undefined }
  /** The variables and secrets of this machine. */
  readonly env: (name: string) => string | undefined
  /**
   * The package with this digest, verified by the trust policy of this machine. `read`: the bytes that the store has.
   * Rejects with why it is not trusted.
   */
  readonly admit: (digest: string, read: () => Promise<Uint8Array | undefined>) => Promise<ExtensionDescriptor>
  /** Called for each call that ended. Contract: must not throw. */
  readonly onCall?: (ended: EndedCall) => void
}

export interface EndedCall {
  readonly tool: string
  readonly session: string
  readonly call: string
  /** undefined: it returned a result. */
  readonly error: { readonly code: string; readonly message: string } | undefined
  readonly ms: number
}
