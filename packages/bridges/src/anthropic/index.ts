export type { HostCall } from '../models/host-call.ts'
export type { PartialCall } from '../models/call-assembler.ts'
export type { Loss, MutableSchema } from '../models/project.ts'
export type { ToolReport } from '../models/tool-reports.ts'
export { fromToolUse, reportTools, toMessagesTools, toToolResult } from './messages.ts'
export type {
  MessagesTool, MessagesToolOptions, ToolResultBlock, ToolResultContent, ToolUseBlock, ToolUseOptions,
} from './messages.ts'
export { ToolUseStream, type MessageEvent } from './tool-use-stream.ts'
