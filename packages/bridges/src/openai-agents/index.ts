export { toAgentTools, type AgentTool, type AgentToolsSession, type OpenAIAgentToolsOptions } from './agent-tools.ts'
export { ToolApprovals } from './tool-approvals.ts'
