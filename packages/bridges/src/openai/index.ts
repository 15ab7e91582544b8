export { toFunctionTool, toFunctionTools, type FunctionTool, type FunctionToolOptions } from './function-tool.ts'
export { fromToolCall, toToolMessage, type HostCall, type ModelToolCall, type ModelToolMessage, type ToolCallOptions } from './tool-calls.ts'
