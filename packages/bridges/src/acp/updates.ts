import type {
  AgentContext, SessionUpdate, ToolCall, ToolCallContent, ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import type { BulkheadEvent, EventListener, EventOf, EventType, Outcome, ToolDefinition } from '@bulkhead/contract'
import { toMcp } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { foundLocations, textContent, toToolCall, toToolContent } from './tool-call.ts'

/** The client of a connection, as the SDK passes it to a handler. */
export type AcpClient = Pick<AgentContext, 'request' | 'notify' | 'createTerminal'>

/** The part of a host that updates need. */
export interface FollowedHost {
  on(listener: EventListener, types: readonly EventType[]): () => void
}

/** The part of a session that updates need. */
export interface FollowedSession {
  readonly id: string
  tools(): readonly ToolDefinition[]
  addHooks(hooks: {
    afterToolExecution(call: { readonly sessionId: string; readonly callId: string }, outcome: Outcome): void
  }): () => void
}

export interface UpdateOptions {
  readonly client: AcpClient
  readonly sessionId: string
  readonly cwd: string
  readonly onFault: (error: Error) => void
}

/** A call that has not ended, and what the client shows of it. An update replaces all of its content. */
interface OpenCall {
  readonly title: string
  readonly diffs: ToolCallContent[]
  readonly terminals: ToolCallContent[]
  /** The last progress, or the end of the output. */
  text: string
}

type CallEvent = EventOf<'ToolInvocationProposed' | 'ToolInvocationCancelled'>

const FOLLOWED = [
  'ToolInvocationProposed', 'ToolInvocationStarted', 'ToolInvocationProgress', 'ToolInvocationUpdated',
  'ToolInvocationCancelled',
] as const satisfies readonly EventType[]

/** Beyond this many unsent messages, progress is dropped. The start and the end of a call never are. */
const MOST_UNSENT = 64
const OUTPUT_CHARS = 10_000

/** Reports calls to a client: a `tool_call` when a call is made, then a `tool_call_update` for each change. */
export class CallUpdates {
  readonly #options: UpdateOptions
  readonly #open = new Map<string, OpenCall>()
  #unsent = 0

  constructor(options: UpdateOptions) {
    this.#options = options
  }

  /** Reports the calls of a session until the returned function is called. */
  follow(host: FollowedHost, session: FollowedSession): () => void {
    const offEvents = host.on((event) => {
      if ('sessionId' in event && event.sessionId === session.id) this.#take(event, session)
    }, FOLLOWED)
    // Events have no results. The hook follows the event of a call that ran. Sub-agents run it, too.
    const offHooks = session.addHooks({
      afterToolExecution: ({ sessionId, callId }, outcome) => {
        if (sessionId === session.id) this.#end(callId, outcome)
      },
    })
    return () => {
      offEvents()
      offHooks()
    }
  }

  /** Replaces the diff that the arguments gave by one with the whole file. */
  showDiff(callId: string, diff: ToolCallContent): void {
    const call = this.#open.get(callId)
    if (!call) return
    call.diffs.splice(0, call.diffs.length, diff)
    this.#show(callId, call)
  }

  showTerminal(callId: string, terminalId: string): void {
    const call = this.#open.get(callId)
    if (!call) return
    call.terminals.push({ type: 'terminal', terminalId })
    this.#show(callId, call)
  }

  /** What the client shows of a call, for a question about it. */
  shown(callId: string): Pick<OpenCall, 'title' | 'diffs'> | undefined {
    return this.#open.get(callId)
  }

  #take(event: BulkheadEvent, session: FollowedSession): void {
    switch (event.type) {
      case 'ToolInvocationProposed': return this.#begin(event, session)
      case 'ToolInvocationStarted':
        return this.#send({ sessionUpdate: 'tool_call_update', toolCallId: event.callId, status: 'in_progress' })
      case 'ToolInvocationProgress': return this.#progress(event.callId, () => event.text)
      case 'ToolInvocationUpdated': return this.#progress(event.callId, (before) => textOf(event.partial, before))
      case 'ToolInvocationCancelled':
        // A call that began ends with the hook, which has its outcome.
        return event.attempt === 0 ? this.#refuse(event, session) : undefined
      default:
    }
  }

  #begin(event: EventOf<'ToolInvocationProposed'>, session: FollowedSession): void {
    const call = this.#callOf(event, event.args, session)
    this.#open.set(event.callId, { title: call.title, diffs: [...(call.content ?? [])], terminals: [], text: '' })
    this.#send({ sessionUpdate: 'tool_call', ...call })
  }

  /** A call that was refused early, such as one of an unknown tool, has not been shown. */
  #refuse(event: EventOf<'ToolInvocationCancelled'>, session: FollowedSession): void {
    const { callId, reason } = event
    if (!this.#open.has(callId)) this.#send({ sessionUpdate: 'tool_call', ...this.#callOf(event, null, session) })
    this.#fail(callId, reason)
  }

  #callOf({ callId: id, tool: name }: CallEvent, args: Json, session: FollowedSession): ToolCall {
    const tool = session.tools().find((each) => each.name === name)
    return toToolCall({ id, name, args, tool, cwd: this.#options.cwd })
  }

  #progress(callId: string, next: (before: string) => string): void {
    const call = this.#open.get(callId)
    // The terminal shows the output itself.
    if (!call || call.terminals.length > 0 || this.#unsent >= MOST_UNSENT) return
    call.text = next(call.text)
    this.#show(callId, call)
  }

  #show(toolCallId: string, { diffs, terminals, text }: OpenCall): void {
    const content = [...diffs, ...terminals, ...(text === '' ? [] : [textContent(text)])]
    this.#send({ sessionUpdate: 'tool_call_update', toolCallId, content })
  }

  #fail(toolCallId: string, reason: string, about: Pick<ToolCallUpdate, '_meta'> = {}): void {
    this.#finish({ toolCallId, status: 'failed', content: [textContent(reason)], ...about })
  }

  #end(toolCallId: string, outcome: Outcome): void {
    const { diffs, terminals } = this.#open.get(toolCallId) ?? { diffs: [], terminals: [] }
    if (outcome.type === 'error') {
      const { _meta: about } = toMcp(outcome)
      return this.#fail(toolCallId, outcome.error_text, { _meta: { ...about } })
    }
    const found = foundLocations(outcome, this.#options.cwd)
    const kept = [...diffs, ...terminals]
    this.#finish({
      toolCallId, status: 'completed', rawOutput: outcome.data,
      content: kept.length > 0 && outcome.content === undefined ? kept : [...kept, ...toToolContent(outcome)],
      ...(found.length > 0 ? { locations: [...found] } : {}),
    })
  }

  #finish(update: ToolCallUpdate): void {
    this.#open.delete(update.toolCallId)
    this.#send({ sessionUpdate: 'tool_call_update', ...update })
  }

  #send(update: SessionUpdate): void {
    const { client, sessionId, onFault } = this.#options
    this.#unsent += 1
    client.notify('session/update', { sessionId, update })
      .catch((error: Error) => onFault(error))
      .finally(() => { this.#unsent -= 1 })
  }
}

/** Output of a command is appended; any other update replaces the one before. */
function textOf(partial: Json, before: string): string {
  const { type, text } = isJsonObject(partial) ? partial : {}
  if (type !== 'shell.output' || typeof text !== 'string') return JSON.stringify(partial)
  return (before + text).slice(-OUTPUT_CHARS).toWellFormed()
}
