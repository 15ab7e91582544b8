import type { ErrorCode } from './errors.ts'
import type { Layer } from './names.ts'

/** The stages an extension passes before it is registered, in order. The first failure stops it. */
export const VALIDATION_STAGES = [
  'locate', 'trust', 'read', 'shape', 'contractVersion', 'requiredCoreVersion', 'configSchema', 'integrity', 'signature', 'lock', 'register',
] as const
export type ValidationStage = (typeof VALIDATION_STAGES)[number]

/** Why something was disabled or deserves a look: at which stage, at which place, and what cures it. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly layer: Layer
  /** null when the fault lies in the layer itself, such as its configuration. */
  readonly extensionId: string | null
  /** The folder or file, for people. */
  readonly location: string
  /** JSON Pointer inside the manifest or configuration. */
  readonly path: string
  readonly message: string
  readonly cure: string
  /** Set when a lower layer's extension of the same id serves instead. */
  readonly fallbackTo?: Layer
}
