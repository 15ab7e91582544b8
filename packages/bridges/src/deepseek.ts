/** DeepSeek: chat completions in the format of OpenAI, with a smaller strict mode. */
import type { ToolDefinition } from '@bulkhead/contract'
import type { HostCall } from './models/host-call.ts'
import { DEEPSEEK } from './models/profiles.ts'
import { toolReports, type ToolReport } from './models/tool-reports.ts'
import {
  chatTools, fromChatCall, type FunctionTool, type FunctionToolOptions, type ModelCustomToolCall, type ModelToolCall,
  type ToolCallOptions,
} from './openai/chat.ts'

export { ToolCallStream, toToolMessage } from './openai/chat.ts'
export type {
  FunctionTool, FunctionToolOptions, ModelCustomToolCall, ModelToolCall, ModelToolMessage, ToolCallOptions,
} from './openai/chat.ts'

/** The list and its schemas are copies. Strict tools need the base URL that ends in `/beta`. */
export const toFunctionTools = (tools: readonly ToolDefinition[], options: FunctionToolOptions = {}): FunctionTool[] =>
  chatTools(tools, options, DEEPSEEK)

/** Invalid arguments are passed on unchanged. The host rejects them with an error for the model. */
export const fromToolCall = (call: ModelToolCall | ModelCustomToolCall, options: ToolCallOptions = {}): HostCall =>
  fromChatCall(call, options, DEEPSEEK)

/** Which tools would be strict, why others would not, and what the provider does not enforce. Sends nothing. */
export const reportTools = (tools: readonly ToolDefinition[]): readonly ToolReport[] =>
  toolReports(tools, DEEPSEEK, true)
