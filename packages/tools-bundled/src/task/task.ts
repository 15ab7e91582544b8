import { BulkheadError, defineExtension, ToolError, type ManifestInput } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    subagent_type: {
      type: 'string', minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$',
      description: 'The type of agent to run.',
    },
    prompt: {
      type: 'string', minLength: 1,
      description: 'Everything the agent needs to know. It does not see this conversation.',
    },
    background: { type: 'boolean', description: 'Do not wait for the result. Default: false.' },
    metadata: { type: 'object', description: 'Passed to the agent unchanged.' },
  },
  required: ['subagent_type', 'prompt'],
  additionalProperties: false,
} as const

/** A task for a sub-agent. */
export interface AgentRequest {
  readonly type: string
  readonly prompt: string
  readonly background: boolean
  readonly metadata: JsonObject
  /** The session and the call that delegate the task. */
  readonly sessionId: string
  readonly callId: string
}

export type AgentResult =
  /** The result. */
  | { readonly output: string }
  /** The session in which a background agent continues. */
  | { readonly sessionId: string }

/**
 * Runs sub-agents with the models of the embedder. The agent must not have more permissions than the session of the
 * request. Unless it runs in the background, it must stop when the signal is aborted.
 */
export type AgentRunner = (request: AgentRequest, signal: AbortSignal) => Promise<AgentResult>

const manifest = {
  ...BUNDLED,
  id: 'task',
  tools: [{
    name: 'task',
    label: 'Delegate',
    description: 'Delegates a task to a sub-agent and returns its result. With `background`, returns the id of its '
      + 'session without waiting.',
    inputSchema: INPUT_SCHEMA,
    requires: { capabilities: ['session'] },
    gated: true,
    mode: 'local',
    kind: 'other',
    timeoutMs: 3_600_000,
  }],
} satisfies ManifestInput

export const createTask = (run?: AgentRunner): BundledExtension => ({
  manifest,
  module: defineExtension({
    tools: {
      task: {
        input: INPUT_SCHEMA,
        requires: { capabilities: ['session'] },
        async execute({ subagent_type: type, prompt, background = false, metadata = {} }, { session, signal, callId }) {
          if (run === undefined) throw unavailable()
          const request = {
            type, prompt, background, metadata: metadata as JsonObject, sessionId: await session.id(), callId,
          }
          const result = await run(request, signal)
          if ('output' in result) return { output: result.output }
          if (background) return { session_id: result.sessionId }
          throw new ToolError(
            'ToolExecutionFailed', 'The agent continued in the background, although `background` is false.',
          )
        },
        deriveApprovalKey: ({ subagent_type: type }) => type,
      },
    },
  }),
})

const unavailable = () => new BulkheadError(
  'CapabilityUnavailable', 'This host has no sub-agents. Do the task yourself. (The embedder can pass `runAgent`.)',
)
