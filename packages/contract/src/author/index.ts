/** What an extension may import inside a compartment. Loads no validator. */
export { defineAgent } from './agent.ts'
export { declaredManifest } from './declared-manifest.ts'
export type { RequirementKeys, ToolKeys } from './declared-keys.ts'
export { defineExtension, defineTool } from './extension.ts'
export type {
  DefinedTool, ExtensionContext, ExtensionModule, ExtensionPhases, ModuleTool, SecretDeclaration, StateDeclaration,
  StoredState, ToolDeclaration, ToolReturn,
} from './extension.ts'
export type { ArgsOf, FromJsonSchema } from './schema-types.ts'
export { ToolError } from './tool-error.ts'
export type {
  AnyRuntime, AppliedUpdate, BaseRuntime, DirectoryEntry, Edited, Env, FileChange, FileReader, FilesFound, FileStat,
  FileUpdate, FileWatch, FileWriter, FindOptions, Interact, LineFound, LinesFound, Log, Net, NetRequest, NetResponse,
  CommandWallName, PipeOptions, PipeResult, ReadRange, CommandAs, Runtime, SearchOptions, Secrets,
  SessionMemory, Shell, ShellResult, ShellStage, ShellTarget, State, Tools,
} from './runtime.ts'
export type { AgentInput } from '../validation/agent.ts'
export type { FormField, FormOptions, FormSchema, FormValue, FormValues } from '@bulkhead/kit/form'
export type { Json, JsonObject } from '@bulkhead/kit/json'
