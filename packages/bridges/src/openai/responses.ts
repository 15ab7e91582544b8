import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { modelCallId } from '../models/call-ids.ts'
import { CallAssembler, type PartialCall } from '../models/call-assembler.ts'
import { parseArguments, toHostCall, type CallOptions, type HostCall } from '../models/host-call.ts'
import { OPENAI } from '../models/profiles.ts'
import { carriesCommon, resultParts, type ResultPart } from '../models/result-parts.ts'
import { providerTools } from '../models/tool-reports.ts'
import type { FunctionToolOptions } from './chat.ts'

/** A tool of the Responses API. */
export interface ResponseTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** Always set, because this API is strict by default. */
  readonly strict: boolean
  /** Of the JSON in the output of a call. */
  readonly output_schema?: JsonObject
}

/** The list and its schemas are copies, so that an SDK can change them. */
export const toResponseTools = (
  tools: readonly ToolDefinition[], { strict = false }: FunctionToolOptions = {},
): ResponseTool[] => providerTools(tools, OPENAI, strict).map(({ tool, name, schema, strict: isStrict }) => ({
  type: 'function', name, description: tool.description, parameters: schema as JsonObject, strict: isStrict,
  ...(tool.outputSchema && { output_schema: structuredClone(tool.outputSchema) }),
}))

/** A tool call: an item of a response. */
export interface FunctionCallItem {
  readonly type: 'function_call'
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

/** A call of a custom tool, which takes text. Tools of the host take objects. */
export interface CustomToolCallItem {
  readonly type: 'custom_tool_call'
  readonly call_id: string
  readonly name: string
  readonly input: string
}

type CallItem = FunctionCallItem | CustomToolCallItem
/** Any other item of a response. */
interface OtherItem {
  readonly type: string
}

/** The tool calls among the items of a response. Invalid arguments are passed on, and the host rejects them. */
export const fromResponseItems = (
  items: readonly (CallItem | OtherItem)[], options: CallOptions = {},
): readonly HostCall[] => items.filter(isCall).map((item) => {
  const args = item.type === 'function_call' ? parseArguments(item.arguments) : item.input
  return toHostCall({ id: item.call_id, name: item.name, arguments: args }, options, OPENAI)
})

const isCall = (item: CallItem | OtherItem): item is CallItem =>
  item.type === 'function_call' || item.type === 'custom_tool_call'

/** The result of a tool call: an item of the next request. */
export interface FunctionCallOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | OutputContent[]
}

export type OutputContent =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' }
  | { readonly type: 'input_file'; readonly file_data: string; readonly filename: string }

/** Images and PDF files are sent as they are. Other bytes are named in the text. */
export function toFunctionCallOutput(outcome: Outcome): FunctionCallOutput {
  const parts = resultParts(outcome, carriesCommon)
  const output = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('\n') : parts.map(outputContent)
  return { type: 'function_call_output', call_id: modelCallId(outcome.metadata.call_id), output }
}

function outputContent(part: ResultPart): OutputContent {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const url = `data:${part.mimeType};base64,${part.data}`
  return part.kind === 'image'
    ? { type: 'input_image', image_url: url, detail: 'auto' }
    : { type: 'input_file', file_data: url, filename: part.name }
}

/** The events of a streamed response that concern tool calls, and any other. */
export type ResponseEvent =
  | AtIndex<'response.output_item.added' | 'response.output_item.done', { readonly item: CallItem | OtherItem }>
  | AtIndex<
    'response.function_call_arguments.delta' | 'response.custom_tool_call_input.delta', { readonly delta: string }
  >
  | AtIndex<'response.function_call_arguments.done', { readonly arguments: string }>
  | AtIndex<'response.custom_tool_call_input.done', { readonly input: string }>
  | OtherItem
type AtIndex<Type extends string, Fields> = { readonly type: Type; readonly output_index: number } & Fields

/** Assembles the tool calls of a streamed response. */
export class ResponseCallStream {
  readonly #assembler = new CallAssembler()
  readonly #custom = new Set<number>()

  /** Returns the call that the event continues, with all of its arguments so far. */
  add(event: ResponseEvent): PartialCall | undefined {
    if (!('output_index' in event)) return undefined
    const { output_index: position } = event
    switch (event.type) {
      case 'response.output_item.added':
      case 'response.output_item.done':
        return isCall(event.item) ? this.#item(position, event.item) : undefined
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#assembler.add(position, { text: event.delta })
      case 'response.function_call_arguments.done':
        return this.#assembler.finish(position, event.arguments)
      case 'response.custom_tool_call_input.done':
        return this.#assembler.finish(position, event.input)
    }
  }

  #item(position: number, item: CallItem): PartialCall | undefined {
    if (item.type === 'custom_tool_call') this.#custom.add(position)
    const text = item.type === 'custom_tool_call' ? item.input : item.arguments
    this.#assembler.add(position, { id: item.call_id, name: item.name })
    return this.#assembler.finish(position, text)
  }

  /** The calls of the response. Contract: the stream has ended. */
  calls(): (FunctionCallItem | CustomToolCallItem)[] {
    return this.#assembler.calls().map(({ position, id, name, text }) => this.#custom.has(position)
      ? { type: 'custom_tool_call', call_id: id, name, input: text }
      : { type: 'function_call', call_id: id, name, arguments: text })
  }
}
