import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { modelCallId } from '../models/call-ids.ts'
import { CallAssembler, type PartialCall } from '../models/call-assembler.ts'
import { parseArguments, toHostCall, type CallOptions, type HostCall } from '../models/host-call.ts'
import { OPENAI, type ModelProfile } from '../models/profiles.ts'
import { resultText } from '../models/result-parts.ts'
import { providerTools, toolReports, type ProviderTool, type ToolReport } from '../models/tool-reports.ts'

/** A tool in the format of OpenAI-compatible chat APIs. */
export interface FunctionTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: JsonObject
    readonly strict?: true
  }
}

export interface FunctionToolOptions {
  /**
   * Requests arguments that match the schema exactly: every property is required, and no other is allowed. Remote tools
   * and tools whose schema cannot be strict keep their own schema; `reportTools` names the reasons.
   */
  readonly strict?: boolean
}

/** The list and its schemas are copies, so that an SDK can change them. */
export const toFunctionTools = (tools: readonly ToolDefinition[], options: FunctionToolOptions = {}): FunctionTool[] =>
  chatTools(tools, options, OPENAI)

export const toFunctionTool = (tool: ToolDefinition, options: FunctionToolOptions = {}): FunctionTool =>
  toFunctionTools([tool], options)[0]!

/** The same for any provider with this format. */
export const chatTools = (
  tools: readonly ToolDefinition[], { strict = false }: FunctionToolOptions, profile: ModelProfile,
): FunctionTool[] => providerTools(tools, profile, strict).map(functionTool)

/** Chat APIs reject the whole request if a description is longer. Descriptions in the schema have no limit. */
const MAX_DESCRIPTION_CHARS = 1024

function functionTool({ tool: { description }, name, schema, strict }: ProviderTool): FunctionTool {
  const isLong = description.length > MAX_DESCRIPTION_CHARS
  const whole = [description, schema['description'] ?? []].flat().join('\n')
  return {
    type: 'function',
    function: {
      name, description: isLong ? `${description.slice(0, MAX_DESCRIPTION_CHARS - 1).toWellFormed()}…` : description,
      parameters: { ...schema as JsonObject, ...(isLong ? { description: whole } : {}) },
      ...(strict ? { strict: true as const } : {}),
    },
  }
}

/** Which tools would be strict, why others would not, and what the provider does not enforce. Sends nothing. */
export const reportTools = (tools: readonly ToolDefinition[]): readonly ToolReport[] => toolReports(tools, OPENAI, true)

/** A tool call of an OpenAI-compatible chat API. */
export interface ModelToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A call of a custom tool, which takes text. Tools of the host take objects. */
export interface ModelCustomToolCall {
  readonly id: string
  readonly type: 'custom'
  readonly custom: { readonly name: string; readonly input: string }
}

export type ToolCallOptions = CallOptions

/**
 * Invalid arguments, and the text of a custom tool call, are passed on unchanged. The host rejects them with an error
 * for the model.
 */
export const fromToolCall = (call: ModelToolCall | ModelCustomToolCall, options: ToolCallOptions = {}): HostCall =>
  fromChatCall(call, options, OPENAI)

/** The same for any provider with this format. */
export function fromChatCall(
  call: ModelToolCall | ModelCustomToolCall, options: ToolCallOptions, profile: ModelProfile,
): HostCall {
  const [name, args] = call.type === 'custom'
    ? [call.custom.name, call.custom.input] : [call.function.name, parseArguments(call.function.arguments)]
  return toHostCall({ id: call.id, name, arguments: args }, options, profile)
}

export interface ModelToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** Chat APIs take text as the result of a tool. Images and files are named in it. */
export const toToolMessage = (outcome: Outcome): ModelToolMessage =>
  ({ role: 'tool', tool_call_id: modelCallId(outcome.metadata.call_id), content: resultText(outcome) })

/** The part of a streamed chunk that contains tool calls. */
export interface ChatChunk {
  readonly choices: readonly {
    readonly index: number
    readonly delta: { readonly tool_calls?: readonly ToolCallDelta[] | null }
  }[]
}

interface ToolCallDelta {
  readonly index?: number
  readonly id?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null } | null
  readonly custom?: { readonly name?: string | null; readonly input?: string | null } | null
}

/** Assembles the tool calls of a streamed chat completion. Reads the first choice only. */
export class ToolCallStream {
  readonly #assembler = new CallAssembler()
  readonly #custom = new Set<number>()
  /** The latest call of each index. Some servers give all calls the same index, or none. */
  readonly #latest = new Map<number | undefined, { readonly position: number; readonly id: string }>()
  #next = 0

  /** Returns the calls that the chunk continues, with all of their arguments so far. */
  add(chunk: ChatChunk): readonly PartialCall[] {
    const deltas = chunk.choices.filter(({ index }) => index === 0).flatMap(({ delta }) => delta.tool_calls ?? [])
    return deltas.flatMap(({ index, id, function: called, custom }) => {
      const position = this.#positionOf(index, id || '')
      if (custom) this.#custom.add(position)
      const name = called?.name ?? custom?.name
      const call = this.#assembler.add(position, {
        ...(id && { id }), ...(name && { name }), text: called?.arguments ?? custom?.input ?? '',
      })
      return call === undefined ? [] : [call]
    })
  }

  /** A new id begins a new call. */
  #positionOf(index: number | undefined, id: string): number {
    const latest = this.#latest.get(index)
    if (latest !== undefined && (id === '' || id === latest.id)) return latest.position
    const position = this.#next++
    this.#latest.set(index, { position, id })
    return position
  }

  /** The calls of the message. Contract: the stream has ended. */
  calls(): (ModelToolCall | ModelCustomToolCall)[] {
    return this.#assembler.calls().map(({ position, id, name, text }) => this.#custom.has(position)
      ? { id, type: 'custom', custom: { name, input: text } }
      : { id, type: 'function', function: { name, arguments: text } })
  }
}
