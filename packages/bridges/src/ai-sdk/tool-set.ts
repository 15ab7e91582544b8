import type { ToolDefinition } from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import { dynamicTool, jsonSchema, type JSONSchema7, type Tool, type ToolCallRepairFunction, type ToolSet } from 'ai'
import { runCall } from '../models/call-approvals.ts'
import { parseArguments } from '../models/host-call.ts'
import { providerNames } from '../models/names.ts'
import { outcomeSchema } from '../models/outcome-schema.ts'
import { OPENAI } from '../models/profiles.ts'
import {
  sessionTools, type AgentToolsOptions, type AskingSession, type SessionCallOptions, type SessionTool,
} from '../models/session-tools.ts'
import { toModelOutput } from './model-output.ts'
import { withProgress } from './progress.ts'
import type { ExecutedCall, ToolApprovals } from './tool-approvals.ts'

/** The part of a session that a tool set needs. */
export type ToolSetSession = AskingSession

export interface ToolSetOptions extends AgentToolsOptions {
  /**
   * Asks for approval through the SDK. Pass the approver that the session was opened with. Without it, the session asks
   * its own person while the tool runs.
   */
  readonly approvals?: ToolApprovals
  /**
   * Whether a tool returns its progress as preliminary results, before the outcome. Frameworks that call the tools
   * themselves, such as Mastra, cannot read a stream. Default: false, a tool returns its outcome.
   */
  readonly streaming?: boolean
}

/** The providers of the SDK accept the names that OpenAI accepts. */
export const PROFILE = OPENAI

/**
 * The tools of a session for `generateText`, `streamText` and agents. The host validates the input with the full schema
 * and applies the policy of the session to every call. Throws ConfigInvalid in code mode without `tools`.
 */
export const toToolSet = (session: ToolSetSession, options: ToolSetOptions = {}): ToolSet => Object.fromEntries(
  sessionTools(session, options, PROFILE).map((each) => [each.name, sdkTool(session, each, options)]),
)

function sdkTool(
  session: ToolSetSession, { tool, name: toolName, schema, callOf }: SessionTool,
  { approvals, streaming = false }: ToolSetOptions,
): Tool<unknown, unknown> {
  return dynamicTool({
    description: tool.description,
    inputSchema: jsonSchema(schema as JSONSchema7),
    ...(tool.outputSchema && { outputSchema: jsonSchema(outcomeSchema(tool.outputSchema) as JSONSchema7) }),
    execute: (input, { toolCallId, messages, abortSignal }) => {
      const isApproved = approvals?.redeem({ toolCallId, toolName, input, messages })
      const run = (options: SessionCallOptions) =>
        runCall(session, callOf(input, toolCallId), options, approvals, isApproved)
      return streaming ? withProgress(abortSignal, run) : run(abortSignal ? { signal: abortSignal } : {})
    },
    ...(approvals && {
      needsApproval: async (input: unknown, { toolCallId, messages }: Pick<ExecutedCall, 'toolCallId' | 'messages'>) => {
        const executed = { toolCallId, toolName, input, messages }
        return await approvals.needed(session, callOf(input, toolCallId), executed) !== undefined
      },
    }),
    // Mastra passes the output alone.
    toModelOutput: (passed: object) => toModelOutput('output' in passed ? passed.output : passed),
  })
}

/**
 * The `repairToolCall` of a tool set: calls in the notation of other agents, such as `read_file`, become calls of the
 * tools. Pass the same tools as to `toToolSet`.
 */
export function toToolCallRepair(
  session: ToolSetSession, tools: readonly ToolDefinition[] = session.tools(),
): ToolCallRepairFunction<ToolSet> {
  const names = providerNames(tools, PROFILE)
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return async ({ toolCall }) => {
    const sent = { name: names.tool(toolCall.toolName), arguments: parseArguments(toolCall.input) }
    const known = canonicalCall(sent, (name) => byName.get(name))
    return known.name !== sent.name && byName.has(known.name)
      ? { ...toolCall, toolName: names.of(known.name), input: JSON.stringify(known.arguments) } : null
  }
}

