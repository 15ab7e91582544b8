export { toCanUseTool, type CanUseToolOptions } from './can-use-tool.ts'
export { toClaudeServer, type ClaudeServerOptions, type ClaudeSession } from './claude-server.ts'
export { ToolApprovals } from './tool-approvals.ts'
