import type { ErrorCode } from './errors.ts'
import type { Layer } from './names.ts'

/** The stages of loading an extension, in order. The first failure stops it. */
export const VALIDATION_STAGES = [
  'locate', 'trust', 'read', 'shape', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'integrity', 'signature', 'lock', 'register',
] as const
export type ValidationStage = (typeof VALIDATION_STAGES)[number]

/** Why something was disabled, or a warning: the stage, the place and the cure. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly layer: Layer
  /** null for a fault of the layer itself, such as its configuration. */
  readonly extensionId: string | null
  /** The folder or file, for people. */
  readonly location: string
  /** JSON Pointer inside the manifest or configuration. */
  readonly path: string
  readonly message: string
  readonly cure: string
  /** Set if an extension with the same id in a lower layer is used instead. */
  readonly fallbackTo?: Layer
}
