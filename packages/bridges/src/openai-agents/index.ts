export { CallApprovals as ToolApprovals } from '../models/call-approvals.ts'
export { toAgentTools, type AgentTool, type AgentToolsSession, type OpenAIAgentToolsOptions } from './agent-tools.ts'
