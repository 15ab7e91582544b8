import type { Outcome, ToolDefinition } from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import type { JsonObject } from '@bulkhead/kit/json'
import { dynamicTool, jsonSchema, type JSONSchema7, type Tool, type ToolCallRepairFunction, type ToolSet } from 'ai'
import { hostCallId } from '../models/call-ids.ts'
import { parseArguments } from '../models/host-call.ts'
import { providerNames } from '../models/names.ts'
import { OPENAI } from '../models/profiles.ts'
import {
  sessionTools, type AgentToolsOptions, type AskingSession, type SessionCall, type SessionCallOptions, type SessionTool,
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
    ...(tool.outputSchema && { outputSchema: jsonSchema(outcomeSchema(tool.outputSchema)) }),
    execute: (input, { toolCallId, messages, abortSignal }) => {
      const run = (options: SessionCallOptions): Promise<Outcome> => {
        const call = callOf(input, toolCallId)
        const start = (known: SessionCall) => session.call(known, options)
        return approvals
          ? approvals.carryOut(call, approvals.redeem({ toolCallId, toolName, input, messages }), start)
          : start({ ...call, id: hostCallId(call.id) })
      }
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

/** Of what `execute` returns: an outcome, whose data satisfies the schema of the tool. */
const outcomeSchema = (data: JsonObject): JSONSchema7 => ({
  anyOf: [
    {
      type: 'object', required: ['type', 'data'],
      properties: { type: { const: 'output' }, data: structuredClone(data) as JSONSchema7 },
    },
    {
      type: 'object', required: ['type', 'error_text'],
      properties: { type: { const: 'error' }, error_text: { type: 'string' } },
    },
  ],
})

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

