import {
  BulkheadError, type AgentManifest, type DelegatingCall, type EventType, type OutcomeBody,
} from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { lateOutcome } from '../calls/late-result.ts'
import { changeSource } from '../calls/record-effect.ts'
import { asWaiting, type RunningCall } from '../calls/running-call.ts'
import type { HostContext } from '../policy/call.ts'
import type { Agents } from './agents.ts'
import type { HostSession } from './host-session.ts'
import type { Session } from './session.ts'

/** A task for a sub-agent. */
export interface AgentRequest {
  /**
   * What the task names: an agent of the host, with its prompt and model. If the host has no agents at all, any name is
   * accepted, and the agent is that name and nothing else.
   */
  readonly agent: AgentManifest
  readonly prompt: string
  readonly metadata: JsonObject
  readonly background: boolean
  /**
   * The session of the sub-agent. Each of its calls needs the permission of the agent and of the session that
   * delegates, counts for both budgets, and asks the same person. It is closed when the runner ends.
   */
  readonly session: Session
  /**
   * Passes an event to the call that delegates, besides those of the calls of this session. Does nothing in the
   * background, because that call is over.
   */
  update(event: Json): void
}

export interface AgentResult {
  readonly output: string
}

/**
 * Runs a sub-agent with a model of the embedder. The signal is aborted when the call, the turn or the session that
 * delegates is cancelled; in the background, when the task or the session is.
 */
export type AgentRunner = (request: AgentRequest, signal: AbortSignal) => Promise<AgentResult>

/** A call of `task`. */
export interface Delegation {
  readonly sessionId: string
  readonly callId: string
  readonly agent: string
  readonly prompt: string
  readonly metadata: JsonObject
  readonly background: boolean
  readonly signal: AbortSignal
  update(partial: Json): void
}

/** `output` is missing if the sub-agent works in the background. */
export interface Delegated {
  readonly sessionId: string
  readonly output?: string
}

export interface DelegationSources {
  readonly parent: HostSession
  /** The call of `task`. */
  readonly call: RunningCall
  readonly agents: Agents
  readonly run: AgentRunner
  readonly host: HostContext
}

/**
 * Opens a session for a sub-agent and runs it there. Rejects with AgentNotFound, AgentInvalid, SubagentDepthExceeded,
 * and with what the runner throws.
 */
export async function delegate(delegation: Delegation, sources: DelegationSources): Promise<Delegated> {
  const { agent: name, prompt, metadata, background, signal, update } = delegation
  const { parent, call: running, run, host } = sources
  const stop = new AbortController()
  const session = await parent.openSubagent({
    agent: sources.agents.list().length === 0 ? { name } : name, background, signal: background ? stop.signal : signal,
    // A mode of its own would only add questions: the mode of the parent applies to each of its calls.
    mode: 'yolo',
  }, { waiting: background ? undefined : asWaiting(running), call: delegatingCall(running) })
  const { id: sessionId } = session
  const request: AgentRequest = {
    agent: session.agent!, prompt, metadata, background, session,
    update: (event) => background ? undefined : update({ child_loop_id: sessionId, event }),
  }
  const silence = background ? undefined : passEvents(session.id, request, host)
  const output = outputOf(run, request, session.parts.cancel.signal).finally(silence)
  if (!background) return { sessionId, output: await output.finally(() => session.close()) }
  const { call } = running
  const result = output.then((text): OutcomeBody => ({
    type: 'output', data: { output: text }, ...(text !== '' && { content: [{ type: 'text', text }] }),
  })).catch((thrown) => {
    // Its session is cancelled too, but the model knows a task.
    throw stop.signal.aborted ? taskCancelled() : thrown
  })
  const outcome = lateOutcome(running, result, sessionId, host)
  const task = { id: sessionId, agent: name, callId: call.id, startedAt: new Date(host.clock.now()).toISOString() }
  parent.background.add({ task, outcome, cancel: () => stop.abort() })
  // Later than its result, so that a listener of SessionClosed finds it.
  void outcome.then(() => session.close())
  return { sessionId }
}

/** What the sub-agent does, as it happens, without code of the embedder. */
const PASSED: ReadonlySet<EventType> = new Set<EventType>([
  'ToolInvocationProposed', 'ToolInvocationStarted', 'ToolInvocationProgress', 'ToolInvocationUpdated',
  'ToolInvocationSucceeded', 'ToolInvocationFailed', 'ToolInvocationCancelled',
])

/** Returns a function that ends it. */
const passEvents = (child: string, { update }: AgentRequest, { events }: HostContext): (() => void) =>
  events.on((event) => {
    // A copy: updates are frozen, and the arguments belong to the call.
    if ('sessionId' in event && event.sessionId === child) update(JSON.parse(JSON.stringify(event)) as Json)
  }, PASSED)

const taskCancelled = () =>
  new BulkheadError('ToolCancelled', 'The task was cancelled.', { data: { reason: 'user' } })

const delegatingCall = ({ call }: RunningCall): DelegatingCall => {
  const { sessionId, turn, rootCallId } = changeSource(call, '')
  return { sessionId, turn, callId: rootCallId }
}

/** A runner that ignores the signal is not waited for. */
async function outputOf(run: AgentRunner, request: AgentRequest, signal: AbortSignal): Promise<string> {
  const result: unknown = await untilAborted((async () => run(request, signal))(), signal)
  const { output } = (result ?? {}) as { readonly output?: unknown }
  if (typeof output === 'string') return output
  throw new BulkheadError('ToolExecutionFailed', 'The sub-agent gave no result: runAgent must resolve with { output }.')
}
