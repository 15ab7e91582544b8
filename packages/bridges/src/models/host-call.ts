import type { ToolDefinition } from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import { isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { withoutAddedNulls } from './added-nulls.ts'
import { hostCallId } from './call-ids.ts'
import { argumentNames, providerNames } from './names.ts'
import { projectTool } from './project.ts'
import type { ModelProfile } from './profiles.ts'

/** A call as `session.call` takes it. */
export interface HostCall {
  readonly id: string
  readonly name: string
  readonly arguments: Json
}

export interface CallOptions {
  /** Removes null arguments: a model sends them for optional arguments of a strict tool. */
  readonly strict?: boolean
  /**
   * The available tools. With them, calls in the notation of other agents, such as `read_file`, are translated, and
   * only those nulls are removed that the tool does not accept.
   */
  readonly tools?: readonly ToolDefinition[]
}

/** The arguments of a call. The host rejects text that is not JSON, with an error for the model. */
export function parseArguments(text: string): Json {
  const parsed = parseJson(text === '' ? '{}' : text)
  return parsed.ok ? parsed.value : text
}

/** A call of a model with the names and arguments that the host knows. */
export function toHostCall(
  call: HostCall, { strict = false, tools = [] }: CallOptions, profile: ModelProfile,
): HostCall {
  const toolNamed = (name: string): ToolDefinition | undefined => tools.find((tool) => tool.name === name)
  const name = providerNames(tools, profile).tool(call.name)
  const sent = { ...call, id: hostCallId(call.id), name, arguments: withOwnNames(call.arguments, toolNamed(name)?.inputSchema, profile) }
  const known = canonicalCall(sent, toolNamed)
  const { arguments: args } = known
  if (!strict || !profile.schemas.allRequired || !isJsonObject(args)) return known
  const tool = toolNamed(known.name)
  if (tool === undefined) return { ...known, arguments: withoutNulls(args) }
  const wasStrict = projectTool(tool, profile, true).strict
  return wasStrict ? { ...known, arguments: withoutAddedNulls(args, tool.inputSchema) } : known
}

/** The arguments with the names of the full schema. */
function withOwnNames(args: Json, schema: JsonObject | undefined, profile: ModelProfile): Json {
  const names = schema && argumentNames(schema, profile)
  if (names === undefined || !isJsonObject(args)) return args
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [names.inward(name), value]))
}

/** Without the schema, every null counts as absent. */
const withoutNulls = (args: JsonObject): Json =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
