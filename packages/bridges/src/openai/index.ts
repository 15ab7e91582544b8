/** OpenAI: chat completions, which many other providers speak too, and the Responses API. */
export type { PartialCall } from '../models/call-assembler.ts'
export type { HostCall } from '../models/host-call.ts'
export type { Loss } from '../models/project.ts'
export type { ToolReport } from '../models/tool-reports.ts'
export {
  fromToolCall, reportTools, toFunctionTool, toFunctionTools, ToolCallStream, toToolMessage, type ChatChunk,
  type FunctionTool, type FunctionToolOptions, type ModelCustomToolCall, type ModelToolCall, type ModelToolMessage,
  type ToolCallOptions,
} from './chat.ts'
export {
  fromResponseItems, ResponseCallStream, toFunctionCallOutput, toResponseTools, type CustomToolCallItem,
  type FunctionCallItem, type FunctionCallOutput, type OutputContent, type ResponseEvent, type ResponseTool,
} from './responses.ts'
