import { BulkheadError, defineExtension, ToolError, type ManifestInput } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    subagent_type: { type: 'string', minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$', description: 'Which kind of agent shall do it.' },
    prompt: { type: 'string', minLength: 1, description: 'All that it needs to know; it sees nothing of this conversation.' },
    background: { type: 'boolean', description: 'Whether to go on without waiting for it. Default: false.' },
    metadata: { type: 'object', description: 'Handed on as it is.' },
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
    description: 'Hands a task to a sub-agent and returns what it came to. With `background` it goes on by itself, and the id of its session is returned.',
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
          const request = { type, prompt, background, metadata: metadata as JsonObject, sessionId: await session.id(), callId }
          const result = await run(request, signal)
          if ('output' in result) return { output: result.output }
          if (background) return { session_id: result.sessionId }
          throw new ToolError('ToolExecutionFailed', 'The agent was to be waited for, and went on by itself.')
        },
        deriveApprovalKey: ({ subagent_type: type }) => type,
      },
    },
  }),
})

const unavailable = () => new BulkheadError(
  'CapabilityUnavailable',
  'This host has no sub-agents. Do the task yourself. (The embedder of the host can pass a function that runs them.)',
)
