import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ManifestInput } from '../validation/manifest.ts'
import type { RequirementSet } from '../validation/requirements.ts'
import type { AnyRuntime, Interact, Log, Runtime } from './runtime.ts'

/** The argument of the lifecycle phases. */
export interface ExtensionContext {
  readonly config: JsonObject
  readonly log: Log
  /**
   * Only during `init`, if a tool of the extension declares `interact`: to sign in with a device code or a password.
   * The deadline of the phase is paused while a person is asked.
   */
  readonly interact?: Interact
}

/** A plain value, or a result in one of the dialects. */
export type ToolReturn = Json | object | undefined | void

type ToolInput = ManifestInput['tools'][number]

/** Keys of the manifest that code declares under the same name. Used only if the manifest is generated. */
type DeclaredKeys = Partial<Omit<ToolInput, 'name' | 'inputSchema' | 'outputSchema' | 'requires'>>

export interface ToolDeclaration<
  Input, Requires extends RequirementSet, EnvName extends string, Slot, SecretName extends string = never,
  Output = unknown,
> extends DeclaredKeys {
  /** The name of a tool for `host.register`. In an extension, the key of the tool is its name. */
  readonly name?: string
  /** The input schema, which gives `args` its type. A plain JSON Schema must equal the manifest's. */
  readonly input?: Input
  /** The schema of the result, which gives it its type. */
  readonly output?: Output
  /** Gives `runtime` its type. Must equal the manifest's. */
  readonly requires?: Requires
  execute(
    args: ArgsOf<Input>, runtime: Runtime<Requires, EnvName, Slot, SecretName>,
  ): ReturnOf<Output> | Promise<ReturnOf<Output>>
  /** Must be deterministic, quick and without effects. A template in the manifest is simpler and runs in the host. */
  deriveApprovalKey?(args: ArgsOf<Input>): string
  /**
   * Undoes what a call of the tool did outside of files, which the host puts back itself. It gets the arguments and the
   * result of that call, and the same runtime as `execute`. Must be idempotent: it runs again if it was interrupted.
   */
  revert?(
    args: ArgsOf<Input>, result: Json, runtime: Runtime<Requires, EnvName, Slot, SecretName>,
  ): void | Promise<void>
}

/** A tool that fits into every extension. A test may call it with only those parts of `runtime` that it uses. */
export interface DefinedTool<Input, Requires extends RequirementSet, Output>
  extends Omit<ToolDeclaration<Input, Requires, never, never, never, Output>, 'execute' | 'revert'> {
  execute(args: ArgsOf<Input>, runtime: Partial<AnyRuntime>): ReturnOf<Output> | Promise<ReturnOf<Output>>
  revert?(args: ArgsOf<Input>, result: Json, runtime: Partial<AnyRuntime>): void | Promise<void>
}

type ReturnOf<Output> = unknown extends Output ? ToolReturn : ArgsOf<Output>

export interface ExtensionPhases {
  init?(context: ExtensionContext): void | Promise<void>
  activate?(context: ExtensionContext): void | Promise<void>
  deactivate?(context: ExtensionContext): void | Promise<void>
  /** Must be idempotent. */
  dispose?(context: ExtensionContext): void | Promise<void>
}

/** The default export of an extension. */
export interface ExtensionModule extends ExtensionPhases {
  readonly tools: Readonly<Record<string, ModuleTool>>
  readonly env?: readonly string[]
  readonly secrets?: readonly (string | SecretDeclaration)[]
  readonly stateSlot?: StateDeclaration | null
  readonly configSchema?: unknown
  /** Migrates stored state of another version. Must be quick and without effects; it has no runtime. */
  migrateState?(stored: StoredState): StoredState | Promise<StoredState>
}

/** Stored state and its version. The result of `migrateState` must have the version of the manifest. */
export interface StoredState {
  readonly slotVersion: string
  readonly data: Json
}

/** As in the manifest. A name alone gives `runtime.secrets` its type, for manifests that are written by hand. */
export interface SecretDeclaration<Name extends string = string> {
  readonly name: Name
  readonly hosts?: readonly string[]
  readonly commands?: readonly string[]
}

/** As in the manifest, with a schema of any supported kind. */
export interface StateDeclaration<Schema = unknown> {
  readonly slotVersion: string
  readonly schema: Schema
  readonly driftPolicy?: 'migrate' | 'warn' | 'reject'
}

export interface ModuleTool {
  readonly input?: unknown
  readonly requires?: RequirementSet
  execute(args: never, runtime: never): unknown
  deriveApprovalKey?(args: never): unknown
  revert?(args: never, result: never, runtime: never): unknown
}

/**
 * Types one tool: `args` by `input`, the result by `output`, and `runtime` by `requires`, `env`, `secrets` and
 * `stateType`. If `input` is a schema of a library, the arguments are parsed with it, so that its defaults apply.
 */
export function defineTool<
  const Input,
  const Requires extends RequirementSet = Record<never, never>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
  const Output = unknown,
  const Name extends string | undefined = undefined,
>(
  tool: ToolDeclaration<Input, Requires, EnvName, Slot, SecretName, Output> & {
    readonly name?: Name
    readonly env?: readonly EnvName[]
    readonly secrets?: readonly (SecretName | SecretDeclaration<SecretName>)[]
    /** Any value with the type of the state. Used only to type `runtime.state`. */
    readonly stateType?: Slot
  },
): DefinedTool<Input, Requires, Output> & NameOf<Name> {
  const { input } = tool
  const defined = tool as unknown as DefinedTool<Input, Requires, Output> & NameOf<Name>
  if (!isTypedSchema(input)) return defined
  const parse = (args: unknown) => parsed(input, args) as Promise<ArgsOf<Input>>
  return {
    ...defined,
    execute: async (args, runtime) => defined.execute(await parse(args), runtime),
    ...(defined.revert && {
      revert: async (args: ArgsOf<Input>, result: Json, runtime: Partial<AnyRuntime>) =>
        defined.revert!(await parse(args), result, runtime),
    }),
    ...(tool.deriveApprovalKey && {
      // The host awaits the key.
      deriveApprovalKey: (async (args: unknown) => tool.deriveApprovalKey!(await parse(args))) as never,
    }),
  }
}

type NameOf<Name> = Name extends string ? { readonly name: Name } : unknown

async function parsed({ '~standard': { validate } }: TypedSchema, args: unknown): Promise<unknown> {
  const { value, issues } = await validate(args)
  if (issues === undefined) return value
  const texts = issues.map(({ message, path = [] }) => {
    const place = path.map((step) => `/${String(typeof step === 'object' ? step.key : step)}`).join('')
    return place === '' ? message : `${place}: ${message}`
  })
  throw new ToolError('InputInvalid', texts.join('. '))
}

/**
 * Adds types and returns the same object. `args` is typed by each tool's `input`, `runtime` by its `requires` and the
 * extension's `env`, `secrets` and `stateSlot`.
 */
export function defineExtension<
  const Inputs extends Record<string, unknown>,
  const Requirements extends Record<string, unknown>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
  const StateSchema = unknown,
>(extension: ExtensionPhases & {
  readonly env?: readonly EnvName[]
  readonly secrets?: readonly (SecretName | SecretDeclaration<SecretName>)[]
  /** Any value with the type of the state. Used only to type `runtime.state`; `stateSlot` does as well. */
  readonly stateType?: Slot
  readonly stateSlot?: StateDeclaration<StateSchema> | null
  /** Used only if the manifest is generated. */
  readonly configSchema?: unknown
  readonly tools:
    & { readonly [Name in keyof Requirements]: { readonly requires?: Requirements[Name] & RequirementSet } }
    & {
      readonly [Name in keyof Inputs]:
        ToolDeclaration<
          Inputs[Name], RequirementsOf<Name extends keyof Requirements ? Requirements[Name] : undefined>,
          EnvName, SlotOf<Slot, StateSchema>, SecretName
        >
    }
  /** Migrates stored state of another version, if driftPolicy is `migrate`. */
  migrateState?(stored: StoredState): StoredState | Promise<StoredState>
}): ExtensionModule {
  return extension as unknown as ExtensionModule
}

type SlotOf<Slot, Schema> = [Slot] extends [never] ? unknown extends Schema ? never : ArgsOf<Schema> : Slot

type RequirementsOf<Declared> = Declared extends RequirementSet ? Declared : Record<never, never>

/**
 * Sets the error code of the call, instead of ToolExecutionFailed. Any thrown error with a known `code` does the same.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: string
  readonly data: Json | undefined

  constructor(
    code: 'ToolExecutionFailed' | 'NotFound' | 'ResourceBusy' | 'InputInvalid', message: string, data?: Json,
  ) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** A zod schema, or any other that implements Standard Schema. */
interface TypedSchema {
  readonly '~standard': {
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined
    validate(value: unknown): Parsed | Promise<Parsed>
  }
}

interface Parsed {
  readonly value?: unknown
  readonly issues?: readonly {
    readonly message: string
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
  }[] | undefined
}

export const isTypedSchema = (value: unknown): value is TypedSchema =>
  typeof value === 'object' && value !== null && '~standard' in value

/** The type of the arguments: from the types of the schema library, or from a JSON Schema literal. */
export type ArgsOf<Schema> = Schema extends TypedSchema
  ? NonNullable<Schema['~standard']['types']>['output']
  : Schema extends object ? FromJsonSchema<Schema> : JsonObject

/** The type of a JSON Schema 2020-12 literal. Anything that a type cannot express is `unknown`. */
export type FromJsonSchema<S> =
  S extends { readonly const: infer Value } ? Value
    : S extends { readonly enum: readonly (infer Value)[] } ? Value
      : S extends { readonly anyOf: readonly (infer Option)[] } ? FromJsonSchema<Option>
        : S extends { readonly oneOf: readonly (infer Option)[] } ? FromJsonSchema<Option>
          : S extends { readonly type: infer Type } ? FromType<Type, S> : unknown

type FromType<Type, S> =
  Type extends readonly (infer Option)[] ? FromType<Option, S>
    : Type extends 'string' ? string
      : Type extends 'number' | 'integer' ? number
        : Type extends 'boolean' ? boolean
          : Type extends 'null' ? null
            : Type extends 'array' ? readonly ItemOf<S>[]
              : Type extends 'object' ? FromObject<S> : unknown

type ItemOf<S> = S extends { readonly items: infer Items } ? FromJsonSchema<Items> : unknown

type FromObject<S> = S extends { readonly properties: infer Members }
  ? Flat<
    & { readonly [Key in keyof Members as Key extends RequiredKeys<S> ? Key : never]: FromJsonSchema<Members[Key]> }
    & { readonly [Key in keyof Members as Key extends RequiredKeys<S> ? never : Key]?: FromJsonSchema<Members[Key]> }
  >
  : { readonly [key: string]: unknown }

type RequiredKeys<S> = S extends { readonly required: readonly (infer Key)[] } ? Key : never
type Flat<T> = { [Key in keyof T]: T[Key] }
