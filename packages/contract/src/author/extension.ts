import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { RequirementSet } from '../policy/requirements.ts'
import type { Interact, Log, Runtime } from './runtime.ts'
import type { ArgsOf } from './schema-type.ts'

/** What the lifecycle phases of an extension are given. */
export interface ExtensionContext {
  readonly config: JsonObject
  readonly log: Log
  /**
   * While `init` runs, where a tool of the extension declares `interact`: to sign in by a device code or a password. The time
   * of the phase stands still meanwhile. Nothing else may ask a person.
   */
  readonly interact?: Interact
}

/** Any shape that can be read as an outcome: a bare value, or one of the dialects, told by its discriminant. */
export type ToolReturn = Json | object | undefined | void

export interface ToolDeclaration<Input, Requires extends RequirementSet, EnvName extends string, Slot, SecretName extends string = never> {
  /** The input schema: gives `args` its type. When it is plain JSON Schema it must equal the manifest's. */
  readonly input?: Input
  /** Gives `runtime` its type, and must equal the manifest's. */
  readonly requires?: Requires
  execute(args: ArgsOf<Input>, runtime: Runtime<Requires, EnvName, Slot, SecretName>): ToolReturn | Promise<ToolReturn>
  /** Deterministic, quick, without effects. A template in the manifest is simpler and runs in the host. */
  deriveApprovalKey?(args: ArgsOf<Input>): string
}

export interface ExtensionPhases {
  init?(context: ExtensionContext): void | Promise<void>
  activate?(context: ExtensionContext): void | Promise<void>
  deactivate?(context: ExtensionContext): void | Promise<void>
  /** Must be idempotent. */
  dispose?(context: ExtensionContext): void | Promise<void>
}

/** The default export of an extension, as the compartment sees it. */
export interface ExtensionModule extends ExtensionPhases {
  readonly tools: Readonly<Record<string, ModuleTool>>
  readonly env?: readonly string[]
  readonly secrets?: readonly string[]
  /** Brings a stored state of another version to the present one. Quick and without effects; it has no runtime. */
  migrateState?(stored: StoredState): StoredState | Promise<StoredState>
}

/** A state with the version it is of. What `migrateState` returns must name the version of the manifest. */
export interface StoredState {
  readonly slotVersion: string
  readonly data: Json
}

export interface ModuleTool {
  readonly input?: unknown
  readonly requires?: RequirementSet
  execute(args: never, runtime: never): unknown
  deriveApprovalKey?(args: never): unknown
}

/** One tool with its types worked out. Handy where tools live in files of their own. */
export function defineTool<
  const Input,
  const Requires extends RequirementSet = Record<never, never>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
>(
  tool: ToolDeclaration<Input, Requires, EnvName, Slot, SecretName>
    & { readonly env?: readonly EnvName[]; readonly secrets?: readonly SecretName[] },
): ToolDeclaration<Input, Requires, EnvName, Slot, SecretName> {
  return tool
}

/**
 * Only adds types: the same object as a plain default export is as good. `args` follows from each tool's `input`,
 * `runtime` from its `requires` and from the extension's `env` and `secrets`.
 */
export function defineExtension<
  const Inputs extends Record<string, unknown>,
  const Requirements extends Record<string, unknown>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
>(extension: ExtensionPhases & {
  readonly env?: readonly EnvName[]
  /** Names of the manifest's secrets, for the type of `runtime.secrets` only. */
  readonly secrets?: readonly SecretName[]
  /** A value of the type of the state, for its type only; nothing is stored by naming it. */
  readonly stateType?: Slot
  readonly tools:
    & { readonly [Name in keyof Requirements]: { readonly requires?: Requirements[Name] & RequirementSet } }
    & {
      readonly [Name in keyof Inputs]:
        ToolDeclaration<
          Inputs[Name], RequirementsOf<Name extends keyof Requirements ? Requirements[Name] : undefined>, EnvName, Slot, SecretName
        >
    }
  /** For a slot whose driftPolicy is `migrate`: brings a stored state of another version to the present one. */
  migrateState?(stored: StoredState): StoredState | Promise<StoredState>
}): ExtensionModule {
  return extension as unknown as ExtensionModule
}

type RequirementsOf<Declared> = Declared extends RequirementSet ? Declared : Record<never, never>

/** Says which error the host should report, instead of ToolExecutionFailed. Any thrown error with a known `code` does. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: string
  readonly data: Json | undefined

  constructor(code: 'ToolExecutionFailed' | 'NotFound' | 'ResourceBusy' | 'InputInvalid', message: string, data?: Json) {
    super(message)
    this.code = code
    this.data = data
  }
}

