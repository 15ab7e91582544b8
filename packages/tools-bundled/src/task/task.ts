import { BulkheadError, defineTool } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'

/** A task for a sub-agent, and the call that delegates it. */
export interface DelegatedTask {
  readonly agent: string
  readonly prompt: string
  readonly background: boolean
  readonly metadata: JsonObject
  readonly sessionId: string
  readonly callId: string
  readonly signal: AbortSignal
  update(partial: Json): void
}

/** Runs a sub-agent. The result is its session and, unless it works in the background, its output. */
export type Delegate = (task: DelegatedTask) => Promise<{ readonly sessionId: string; readonly output?: string }>

export const createTool = ({ delegate }: { readonly delegate?: Delegate | undefined }) => defineTool({
  label: 'Delegate',
  description: 'Delegates a task to a sub-agent and returns its result. With `background`, returns the id of its '
    + 'session without waiting.',
  input: {
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
  },
  requires: { capabilities: ['session'] },
  gated: true,
  mode: 'local',
  kind: 'other',
  timeoutMs: 3_600_000,
  async execute(args, { session, signal, callId, update }) {
    if (delegate === undefined) throw unavailable()
    const { subagent_type: agent, prompt, background = false, metadata = {} } = args
    const { sessionId, output } = await delegate({
      agent, prompt, background, metadata: metadata as JsonObject, sessionId: await session.id(), callId, signal,
      update,
    })
    return {
      type: 'output', data: output === undefined ? { session_id: sessionId } : { output },
      // A model reads the text itself, not JSON around it.
      ...(output && { content: [{ type: 'text', text: output }] }),
      metadata: { child_loop_id: sessionId },
    }
  },
  deriveApprovalKey: ({ subagent_type: type }) => type,
})

const unavailable = () => new BulkheadError(
  'CapabilityUnavailable', 'This host has no sub-agents. Do the task yourself. (The embedder can pass `runAgent`.)',
)
