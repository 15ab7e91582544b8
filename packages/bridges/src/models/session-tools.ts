import {
  BulkheadError, PROGRAM_TOOL, type ApprovalRequest, type CallProgress, type Outcome, type ToolDefinition,
} from '@bulkhead/contract'
import { canonicalCall } from '@bulkhead/contract/dialects'
import type { Json } from '@bulkhead/kit/json'
import type { ModelProfile } from './profiles.ts'
import { providerTools, type ProviderTool } from './tool-reports.ts'

export interface SessionCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

export interface SessionCallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CallProgress) => void
}

/** The part of a session that the tools of an agent SDK need. */
export interface AgentSession {
  /** Whether the model writes programs instead of calling the tools. */
  readonly codeMode?: boolean
  tools(): readonly ToolDefinition[]
  call(call: SessionCall, options: SessionCallOptions): Promise<Outcome>
}

/** The same, for an SDK that asks its own person before it runs a call. */
export interface AskingSession extends AgentSession {
  explain(call: SessionCall): Promise<{
    readonly decision: 'allow' | 'ask' | 'deny'
    /** For an ask: what the person has to know. */
    readonly question?: ApprovalRequest
  }>
}

export interface AgentToolsOptions {
  /**
   * The tools to offer. Default: all of the session. In code mode pass `host.offeredTools(session)`, which describes
   * the functions of a program.
   */
  readonly tools?: readonly ToolDefinition[]
}

/** A tool as an agent SDK gets it. */
export interface SessionTool extends ProviderTool {
  /** The call for the host. Arguments in the notation of other agents, such as `file_path`, are translated. */
  callOf(input: unknown, id: string): SessionCall
}

/** The tools of a session under names that the profile allows. Throws ConfigInvalid in code mode without `tools`. */
export function sessionTools(
  session: AgentSession, { tools = ownTools(session) }: AgentToolsOptions, profile: ModelProfile,
): readonly SessionTool[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return providerTools(tools, profile, false).map((each) => ({
    ...each,
    callOf: (input, id) =>
      canonicalCall({ id, name: each.tool.name, arguments: input as Json }, (name) => byName.get(name)),
  }))
}

function ownTools(session: AgentSession): readonly ToolDefinition[] {
  if (!session.codeMode) return session.tools()
  throw new BulkheadError(
    'ConfigInvalid', 'The session is in code mode, and the functions of its programs are described by the host. Pass '
    + `\`tools: host.offeredTools(session)\`, which has \`${PROGRAM_TOOL}\` only.`,
  )
}
