import type { CallProgress, Outcome, ToolDefinition } from '@bulkhead/contract'
import { dynamicTool, jsonSchema, type JSONSchema7, type Tool, type ToolApprovalStatus, type ToolSet } from 'ai'
import { hostCallId } from '../models/call-ids.ts'
import { providerNames } from '../models/names.ts'
import { OPENAI } from '../models/profiles.ts'
import { providerTools, type ProviderTool } from '../models/tool-reports.ts'
import { toModelOutput } from './model-output.ts'
import type { ExecutedCall, ToolApprovals } from './tool-approvals.ts'

interface SessionCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

/** The part of a session that a tool set needs. */
export interface ToolSetSession {
  tools(): readonly ToolDefinition[]
  call(call: SessionCall, options: {
    readonly signal: AbortSignal; readonly onProgress: (progress: CallProgress) => void
  }): Promise<Outcome>
  explain(call: SessionCall): Promise<{
    readonly decision: 'allow' | 'ask' | 'deny'
    readonly chain: readonly { readonly action: string; readonly reason: string }[]
  }>
}

export interface ToolSetOptions {
  /** The tools to offer. Default: all of the session. */
  readonly tools?: readonly ToolDefinition[]
  /**
   * Asks for approval through the SDK. Pass the approver that the session was opened with. Without it, the session asks
   * its own person while the tool runs.
   */
  readonly approvals?: ToolApprovals
}

/** A preliminary result: what the tool reports while it runs. The final result is an outcome. */
export type ToolProgress = { readonly type: 'progress' } & CallProgress

/**
 * The tools of a session for `generateText`, `streamText` and agents. The host validates the input with the full schema
 * and applies the policy of the session to every call.
 */
export function toToolSet(session: ToolSetSession, { tools = session.tools(), approvals }: ToolSetOptions = {}): ToolSet {
  return Object.fromEntries(providerTools(tools, PROFILE, false).map((each) => [each.name, sdkTool(session, each, approvals)]))
}

/** The providers of the SDK accept the names that OpenAI accepts. */
const PROFILE = OPENAI

function sdkTool(
  session: ToolSetSession, { tool, name: toolName, schema }: ProviderTool, approvals: ToolApprovals | undefined,
): Tool<unknown, unknown> {
  return dynamicTool({
    description: tool.description,
    inputSchema: jsonSchema(schema as JSONSchema7),
    execute: (input, { toolCallId, messages, abortSignal }) =>
      results(abortSignal, (options) => {
        const run = (id: string) => session.call({ id, name: tool.name, arguments: input }, options)
        const executed: ExecutedCall = { toolCallId, toolName, input, messages }
        return approvals ? approvals.run(executed, tool.name, run) : run(hostCallId(toolCallId))
      }),
    ...(approvals && {
      needsApproval: async (input: unknown, { toolCallId }: { readonly toolCallId: string }) =>
        (await session.explain({ id: toolCallId, name: tool.name, arguments: input })).decision === 'ask',
    }),
    toModelOutput: ({ output }) => toModelOutput(output),
  })
}

/** More than this many preliminary results that the SDK has not read are dropped, the oldest first. */
const MAX_WAITING = 64

/** Yields progress and then the outcome. A reader that stops early cancels the call. */
async function* results(
  abortSignal: AbortSignal | undefined, run: (options: Parameters<ToolSetSession['call']>[1]) => Promise<Outcome>,
): AsyncGenerator<ToolProgress | Outcome, void, undefined> {
  const stop = new AbortController()
  const waiting: CallProgress[] = []
  let reported = Promise.withResolvers<void>()
  const onProgress = (progress: CallProgress): void => {
    if (waiting.push(progress) > MAX_WAITING) waiting.shift()
    reported.resolve()
  }
  const signal = abortSignal ? AbortSignal.any([abortSignal, stop.signal]) : stop.signal
  const ended = run({ signal, onProgress })
  try {
    for (;;) {
      const outcome = await Promise.race([reported.promise, ended])
      reported = Promise.withResolvers()
      for (const progress of waiting.splice(0)) yield { type: 'progress', ...progress }
      if (outcome) return yield outcome
    }
  } finally {
    stop.abort()
  }
}

/** The approval of one tool, as `toolApproval` takes it. */
type ToolApproval = (input: unknown, options: { readonly toolCallId: string }) => Promise<ToolApprovalStatus>

/**
 * The `toolApproval` of a tool set, instead of `needsApproval` of its tools: the SDK then also gets the reason why the
 * host asks. Pass the same tools as to `toToolSet`. Approvals of other tools stay as they are.
 */
export function toToolApproval(
  session: ToolSetSession, tools: readonly ToolDefinition[] = session.tools(),
): Record<string, ToolApproval> {
  const names = providerNames(tools, PROFILE)
  return Object.fromEntries(tools.map(({ name }) => [names.of(name), (input, { toolCallId: id }) =>
    approvalStatus(session, { id, name, arguments: input })] satisfies [string, ToolApproval]))
}

async function approvalStatus(session: ToolSetSession, call: SessionCall): Promise<ToolApprovalStatus> {
  const { decision, chain } = await session.explain(call)
  if (decision !== 'ask') return 'not-applicable'
  const reason = chain.filter(({ action }) => action === 'ask').map((step) => step.reason).join('; ')
  return { type: 'user-approval', reason }
}
