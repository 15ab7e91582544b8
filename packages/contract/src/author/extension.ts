import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { ApprovalTemplate, OnlyToolNames, ToolName } from './checked-text.ts'
import type { RequirementKeys, ToolKeys } from './declared-keys.ts'
import { configParser, parsed, withConfig } from './parse.ts'
import type { AnyRuntime, Interact, Log, Runtime } from './runtime.ts'
import { isTypedSchema, type ArgsOf } from './schema-types.ts'

/** The argument of the lifecycle phases. */
export interface ExtensionContext<Config = JsonObject> {
  /** The configuration of the extension. A schema of a library has parsed it, so that its defaults apply. */
  readonly config: Config
  /** Messages for the log of the host. */
  readonly log: Log
  /**
   * Only during `init`, if a tool of the extension declares `interact`: to sign in with a device code or a password.
   * The deadline of the phase is paused while a person is asked.
   */
  readonly interact?: Interact
}

/** A plain value, or a result in one of the dialects. */
export type ToolReturn = Json | object | undefined | void

export interface ToolDeclaration<
  Input, Requires extends RequirementKeys, EnvName extends string, Slot, SecretName extends string = never,
  Output = unknown, Config = never,
> extends ToolKeys {
  /** The name of a tool for `host.register`. In an extension, the key of the tool is its name. */
  readonly name?: string
  /** The input schema, which gives `args` its type. A plain JSON Schema must equal the manifest's. */
  readonly input?: Input
  /** The schema of the result, which gives it its type. */
  readonly output?: Output
  /** What the tool needs. Gives `runtime` its type. Must equal the manifest's. */
  readonly requires?: Requires
  /** Does the work of a call. `args` satisfy the input schema; `runtime` has what the tool declares. */
  execute(
    args: ArgsOf<Input>, runtime: Runtime<Requires, EnvName, Slot, SecretName, Config>,
  ): ReturnOf<Output> | Promise<ReturnOf<Output>>
  /** Must be deterministic, quick and without effects. A template in the manifest is simpler and runs in the host. */
  deriveApprovalKey?(args: ArgsOf<Input>): string
  /**
   * Undoes what a call of the tool did outside of files, which the host puts back itself. It gets the arguments and the
   * result of that call, and the same runtime as `execute`. Must be idempotent: it runs again if it was interrupted.
   */
  revert?(
    args: ArgsOf<Input>, result: Json, runtime: Runtime<Requires, EnvName, Slot, SecretName, Config>,
  ): void | Promise<void>
}

/** A tool that fits into every extension. A test may call it with only those parts of `runtime` that it uses. */
export interface DefinedTool<Input, Requires extends RequirementKeys, Output>
  extends Omit<ToolDeclaration<Input, Requires, never, never, never, Output>, 'description' | 'execute' | 'revert'> {
  readonly description: string
  execute(args: ArgsOf<Input>, runtime: Partial<AnyRuntime>): ReturnOf<Output> | Promise<ReturnOf<Output>>
  revert?(args: ArgsOf<Input>, result: Json, runtime: Partial<AnyRuntime>): void | Promise<void>
}

type ReturnOf<Output> = unknown extends Output ? ToolReturn : ArgsOf<Output>

export interface ExtensionPhases<Config = JsonObject> {
  /** Runs first, once for each compartment, before any call. An error keeps the extension from starting. */
  init?(context: ExtensionContext<Config>): void | Promise<void>
  /** Runs after `init`, when calls begin. */
  activate?(context: ExtensionContext<Config>): void | Promise<void>
  /** Runs when no further calls come. */
  deactivate?(context: ExtensionContext<Config>): void | Promise<void>
  /** Frees what the extension holds. Must be idempotent. */
  dispose?(context: ExtensionContext<Config>): void | Promise<void>
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
  /** Name of the host's environment variable that holds the secret. */
  readonly name: Name
  /** Hosts that may receive it in a header or a query. A tool must declare each of them. */
  readonly hosts?: readonly string[]
  /** Commands that may receive it in an argument or as input. A tool must declare each of them. */
  readonly commands?: readonly string[]
}

/** As in the manifest, with a schema of any supported kind. */
export interface StateDeclaration<Schema = unknown> {
  /** Version of the format of the state. */
  readonly slotVersion: string
  /** JSON Schema (2020-12) of the state, or a schema of a library. Gives `runtime.state` its type. */
  readonly schema: Schema
  /** What happens to stored state of another version. Default: reject. */
  readonly driftPolicy?: 'migrate' | 'warn' | 'reject'
}

export interface ModuleTool {
  readonly input?: unknown
  readonly requires?: RequirementKeys
  execute(args: never, runtime: never): unknown
  deriveApprovalKey?(args: never): unknown
  revert?(args: never, result: never, runtime: never): unknown
}

/** What a tool declares for its extension, so that `runtime` has these parts. */
interface ToolParts<EnvName extends string, SecretName extends string, Slot, ConfigSchema> {
  /** Names of environment variables that the tool may read. */
  readonly env?: readonly EnvName[]
  /** Secrets that the tool may use without seeing them. */
  readonly secrets?: readonly (SecretName | SecretDeclaration<SecretName>)[]
  /** Any value with the type of the state. Used only to type `runtime.state`. */
  readonly stateType?: Slot
  /** The configSchema of the extension. Gives `runtime.config` its type. */
  readonly configSchema?: ConfigSchema
}

/**
 * Types one tool: `args` by `input`, the result by `output`, and `runtime` by `requires`, `env`, `secrets`,
 * `configSchema` and `stateType`. If `input` is a schema of a library, the arguments are parsed with it, so that its
 * defaults apply; the same holds for the configuration.
 */
export function defineTool<
  const Input,
  const Requires extends RequirementKeys = Record<never, never>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
  const Output = unknown,
  const Name extends string | undefined = undefined,
  const ConfigSchema = unknown,
  const Template extends string = string,
>(
  tool: ToolDeclaration<Input, Requires, EnvName, Slot, SecretName, Output, ConfigOf<ConfigSchema>>
    & ToolParts<EnvName, SecretName, Slot, ConfigSchema> & {
      readonly name?: ToolName<Name>
      readonly description: string
      readonly approvalKey?: ApprovalTemplate<Template, Input>
    },
): DefinedTool<Input, Requires, Output> & NameOf<Name> {
  const { input } = tool
  const defined = tool as unknown as DefinedTool<Input, Requires, Output> & NameOf<Name>
  const configured = withParsedConfig(defined, configParser(tool.configSchema))
  if (!isTypedSchema(input)) return configured
  const parse = (args: unknown) => parsed(input, args) as Promise<ArgsOf<Input>>
  return {
    ...configured,
    execute: async (args, runtime) => configured.execute(await parse(args), runtime),
    ...(configured.revert && {
      revert: async (args: ArgsOf<Input>, result: Json, runtime: Partial<AnyRuntime>) =>
        configured.revert!(await parse(args), result, runtime),
    }),
    ...(tool.deriveApprovalKey && {
      // The host awaits the key.
      deriveApprovalKey: (async (args: unknown) => tool.deriveApprovalKey!(await parse(args))) as never,
    }),
  }
}

type NameOf<Name> = Name extends string ? { readonly name: Name } : unknown

type Configured = Pick<DefinedTool<unknown, RequirementKeys, unknown>, 'execute' | 'revert'>

/** The tool itself, unless a library parses the configuration. */
function withParsedConfig<Tool>(tool: Tool, parse: ReturnType<typeof configParser>): Tool {
  if (parse === undefined) return tool
  const { execute, revert } = tool as Configured
  return {
    ...tool,
    execute: async (args: JsonObject, runtime: Partial<AnyRuntime>) =>
      execute.call(tool, args as never, withConfig(runtime, await parse(runtime.config))),
    ...(revert && {
      revert: async (args: JsonObject, result: Json, runtime: Partial<AnyRuntime>) =>
        revert.call(tool, args as never, result, withConfig(runtime, await parse(runtime.config))),
    }),
  }
}

/**
 * Adds types. `args` is typed by each tool's `input`, `runtime` by its `requires` and the extension's `env`, `secrets`,
 * `configSchema` and `stateSlot`. If `configSchema` is a schema of a library, the configuration is parsed with it.
 */
export function defineExtension<
  const Inputs extends Record<string, unknown>,
  const Requirements extends Record<string, unknown>,
  const Templates extends Record<string, unknown>,
  const EnvName extends string = never,
  Slot = never,
  const SecretName extends string = never,
  const StateSchema = unknown,
  const ConfigSchema = unknown,
>(extension: ExtensionPhases<PhaseConfig<ConfigSchema>> & {
  /** Names of environment variables that its tools may read, one by one. */
  readonly env?: readonly EnvName[]
  /** Secrets that its tools may use without seeing them, each for the hosts and commands named here. */
  readonly secrets?: readonly (SecretName | SecretDeclaration<SecretName>)[]
  /** Any value with the type of the state. Used only to type `runtime.state`; `stateSlot` does as well. */
  readonly stateType?: Slot
  /** The state that the extension keeps between calls, or null. */
  readonly stateSlot?: StateDeclaration<StateSchema> | null
  /**
   * Schema of the configuration: JSON Schema, or one of a library, whose defaults apply. Gives `runtime.config` its
   * type. Part of the manifest only if that is generated.
   */
  readonly configSchema?: ConfigSchema
  /** The tools, by name. */
  readonly tools:
    & { readonly [Name in keyof Requirements]: { readonly requires?: Requirements[Name] & RequirementKeys } }
    & {
      readonly [Name in keyof Inputs]:
        ToolDeclaration<
          Inputs[Name], RequirementsOf<Name extends keyof Requirements ? Requirements[Name] : undefined>,
          EnvName, SlotOf<Slot, StateSchema>, SecretName, unknown, ConfigOf<ConfigSchema>
        >
    }
    & KnownArguments<
      Templates, NoInfer<Inputs>,
      ToolDeclaration<
        unknown, Record<never, never>, EnvName, SlotOf<Slot, StateSchema>, SecretName, unknown, ConfigOf<ConfigSchema>
      >
    >
    & OnlyToolNames<NoInfer<Templates>>
  /** Migrates stored state of another version, if driftPolicy is `migrate`. */
  migrateState?(stored: StoredState): StoredState | Promise<StoredState>
}): ExtensionModule {
  const module = extension as unknown as ExtensionModule
  const parse = configParser(extension.configSchema)
  if (parse === undefined) return module
  const { init, activate, deactivate, dispose, tools } = module
  const phase = (work: ExtensionPhases['init']) => async (context: ExtensionContext): Promise<void> => {
    const config = await parse(context.config)
    await work?.call(module, { ...context, config })
  }
  return {
    ...module,
    // Also without a phase of its own: an invalid configuration keeps it from starting.
    init: phase(init),
    ...(activate && { activate: phase(activate) }),
    ...(deactivate && { deactivate: phase(deactivate) }),
    ...(dispose && { dispose: phase(dispose) }),
    tools: Object.fromEntries(Object.entries(tools).map(([name, tool]) =>
      // A tool with a schema of its own parses the configuration itself.
      [name, 'configSchema' in tool ? tool : withParsedConfig(tool, parse)])),
  }
}

/** `Plain`: the type of the tools if none has an input, because their names are not inferred from it then. */
type KnownArguments<Templates, Inputs, Plain> = {
  readonly [Name in keyof Templates]: {
    readonly approvalKey?: ApprovalTemplate<Templates[Name], Name extends keyof Inputs ? Inputs[Name] : unknown>
  } & (string extends keyof Inputs ? Plain : unknown)
}

type SlotOf<Slot, Schema> = [Slot] extends [never] ? unknown extends Schema ? never : ArgsOf<Schema> : Slot

/** never if there is no schema, so that `runtime` has no `config`. */
type ConfigOf<Schema> = unknown extends Schema ? never : ArgsOf<Schema>
type PhaseConfig<Schema> = unknown extends Schema ? JsonObject : ArgsOf<Schema>

type RequirementsOf<Declared> = Declared extends RequirementKeys ? Declared : Record<never, never>
