export {
  fromToolUse, toMessagesTools, toToolResult, type MessagesTool, type ToolResultBlock, type ToolResultContent, type ToolUseBlock,
  type ToolUseOptions,
} from './tool-use.ts'
