import type { McpSdkServerConfigWithInstance } from '@anthropic-ai/claude-agent-sdk'
import { mayChange, type CallProgress, type Outcome, type ToolDefinition } from '@bulkhead/contract'
import { noteOfCut, toMcp } from '@bulkhead/contract/dialects'
import { isJsonObject } from '@bulkhead/kit/json'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  CallToolRequestSchema, ListToolsRequestSchema, type CallToolResult, type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { runCall } from '../models/call-approvals.ts'
import { OPENAI } from '../models/profiles.ts'
import { sessionTools, type AgentToolsOptions, type AskingSession, type SessionTool } from '../models/session-tools.ts'
import type { ToolApprovals } from './tool-approvals.ts'

/** The part of a session that the server needs. */
export type ClaudeSession = AskingSession

export interface ClaudeServerOptions extends AgentToolsOptions {
  /** The key of the server in `mcpServers`. The agent calls its tools `mcp__{name}__{tool}`. Default: bulkhead. */
  readonly name?: string
  /**
   * Asks for approval through `canUseTool`. Pass the approver that the session was opened with. Without it, the session
   * asks its own person while the tool runs.
   */
  readonly approvals?: ToolApprovals
}

export const SERVER_NAME = 'bulkhead'

/** Names have to fit behind the prefix of the server. */
export const PROFILE = OPENAI

/**
 * The tools of a session as an MCP server in this process, for `mcpServers` of `query`. Each `query` needs its own.
 * Throws ConfigInvalid in code mode without `tools`.
 */
export function toClaudeServer(
  session: ClaudeSession, options: ClaudeServerOptions = {},
): McpSdkServerConfigWithInstance {
  const { name = SERVER_NAME, approvals } = options
  const tools = sessionTools(session, options, PROFILE)
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const instance = new McpServer({ name, version: '1.0.0' }, { capabilities: { tools: {} } })
  const { server } = instance
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(listed) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const { name: called, arguments: input = {}, _meta: { progressToken, [CALL_ID]: id } = {} } = params
    const meant = byName.get(called)
    if (meant === undefined) return failed(`There is no tool "${called.slice(0, 64)}".`)
    const callId = typeof id === 'string' ? id : crypto.randomUUID()
    let progress = 0
    const onProgress = ({ text }: CallProgress): void => {
      if (progressToken === undefined || text === undefined) return
      const update = { progressToken, progress: ++progress, message: text }
      void sendNotification({ method: 'notifications/progress', params: update }).catch(() => undefined)
    }
    const isApproved = approvals?.redeem(callId)
    const call = meant.callOf(input, callId)
    return callResult(await runCall(session, call, { signal, onProgress }, approvals, isApproved), meant.tool)
  })
  return {
    type: 'sdk', name, instance,
    // Otherwise a rule of the agent that allows a tool would skip the question.
    ...(approvals && { tools: tools.map((tool) => ({ name: tool.name, permission_policy: 'always_ask' as const })) }),
  }
}

/** The key of the id that the model gave the call. */
const CALL_ID = 'claudecode/toolUseId'

const listed = ({ tool, name, schema }: SessionTool): Tool => ({
  name, title: tool.label, description: tool.description, inputSchema: schema as Tool['inputSchema'],
  ...(isFormed(tool) && { outputSchema: structuredClone(tool.outputSchema) as Tool['outputSchema'] }),
  annotations: { readOnlyHint: tool.mode === 'read' && !mayChange(tool.requires) && tool.executor !== 'remote' },
})

/** MCP knows schemas of objects only. */
const isFormed = ({ outputSchema }: ToolDefinition): boolean => outputSchema?.['type'] === 'object'

const failed = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true })

/**
 * The agent reads structured content in place of the text, so it is sent only for a schema. A result that was cut may
 * not satisfy it, and is an error with the rest.
 */
function callResult(outcome: Outcome, tool: ToolDefinition): CallToolResult {
  const { content, isError } = toMcp(outcome)
  const note = noteOfCut(outcome.metadata)
  const blocks = [...content, ...(note === undefined ? [] : [{ type: 'text' as const, text: note }])]
  const whole = outcome.type === 'output' && !outcome.metadata.truncated && isJsonObject(outcome.data)
    ? outcome.data : undefined
  return {
    content: blocks as CallToolResult['content'],
    ...(isFormed(tool) && whole && { structuredContent: { ...whole } }),
    ...((isError || (isFormed(tool) && !whole)) && { isError: true }),
  }
}
