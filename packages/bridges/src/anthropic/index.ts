export {
  fromToolUse, toMessagesTools, toToolResult, type MessagesTool, type ToolResultBlock, type ToolResultContent, type ToolUseBlock,
} from './tool-use.ts'
