import {
  BulkheadError, type BulkheadEvent, type EventListener, type EventType, type InteractionEnvelope, type InteractionRequest, type InteractionResponse, type Interactor, type Outcome, type ToolDefinition,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Implementation, Server, Transport } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import { versionFault, type Era } from './client-request.ts'
import { OpenCalls, type OpenCall } from './open-calls.ts'
import { questionForm, readReply, type QuestionForm } from './question-form.ts'
import { ShownList, serveToolsOn } from './tool-server.ts'

/** The part of a session that is needed. */
export interface ServedSession {
  readonly id: string
  tools(): readonly ToolDefinition[]
  call(
    call: { readonly id: string; readonly name: string; readonly arguments: unknown }, options: { readonly signal: AbortSignal },
  ): Promise<Outcome>
  close(): Promise<void>
}

/** The part of a host that is needed. */
export interface ServedHost {
  /** What of its tools a session is shown. Default: all. */
  offeredTools?(session: ServedSession): readonly ToolDefinition[]
  on(listener: EventListener, types: readonly EventType[]): () => void
}

export interface ServeOptions {
  /** How the server calls itself. */
  readonly info: Implementation
  /** Opens the session of the client: its policy, and as its person the one behind the client. Called once. */
  readonly openSession: (person: Interactor) => Promise<ServedSession>
  /** Of the SDK, not started, and of one client. Default: standard input and output of this process. */
  readonly transport?: Transport
  /** Instructions for the model. */
  readonly instructions?: string
  /** How long a person may take to answer. Default: 5 minutes. */
  readonly answerWithinMs?: number
  /** How many requests, and how many calls, may be open at once. Default: 128. */
  readonly maxOpen?: number
  /** Hears of what clients do wrong and of what could not be sent; nothing of it ends the serving. */
  readonly onFault?: (error: Error) => void
}

export interface Serving {
  /** Resolves when the client is gone and its session is closed. Never rejects. */
  readonly closed: Promise<void>
  /** Hangs up. Resolves as `closed` does. Idempotent. */
  close(): Promise<void>
}

const DEFAULT_INSTRUCTIONS = 'Each tool runs with only the powers it declared. Some calls wait until a person agrees; '
  + 'a refusal says why, so do not repeat it unchanged.'

/**
 * Lets one MCP client use the tools of a host, under the policy of one session: every call goes through its guard, and who is
 * asked is the person behind the client. Ends with the client, or with `close`; the host stays open.
 * Rejects as `openSession` does, and where `@modelcontextprotocol/server` is not installed.
 */
export async function serveTools(host: ServedHost, options: ServeOptions): Promise<Serving> {
  const { info, instructions = DEFAULT_INSTRUCTIONS, answerWithinMs = 300_000, maxOpen = 128, onFault } = options
  // Imported here because MCP clients do not need it.
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([
    import('@modelcontextprotocol/server'), import('@modelcontextprotocol/server/stdio'),
  ])
  const calls: OpenCalls = new OpenCalls({ run: (call, signal) => session.call(call, { signal }), answerWithinMs, maxOpen })
  let spoken: Era | undefined
  const session = await options.openSession(personBehind(calls, answerWithinMs, () => spoken))
  const list = new ShownList(() => host.offeredTools?.(session) ?? session.tools())

  let server: Server | undefined
  const tellIf = (hasChanged: boolean) => {
    if (hasChanged) server?.sendToolListChanged().catch((error: Error) => onFault?.(error))
  }
  const forget = host.on((event) => {
    if (event.type === 'ToolsChanged') tellIf(list.hasChanged())
    else tellOfProgress(event, session, calls)
  }, ['ToolsChanged', 'ToolInvocationProgress', 'ToolInvocationUpdated'])

  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const end = () => {
    forget()
    calls.end()
    resolve(session.close().catch((error: Error) => onFault?.(error)))
  }
  const transport = new BoundedTransport(options.transport ?? new StdioServerTransport(), {
    maxOpen,
    faultOf: (request) => versionFault(request, spoken === 'modern' ? server?.getNegotiatedProtocolVersion() : undefined),
    closed: end,
  })
  const handle = serveStdio(({ era }) => {
    spoken = era
    server = new sdk.Server(info, { capabilities: { tools: { listChanged: true } }, instructions })
    serveToolsOn(server, era, { calls, list, called: () => tellIf(list.hasOtherNames()) })
    return server
  }, { transport, ...(onFault ? { onerror: onFault } : {}) })
  return {
    closed,
    async close() {
      await handle.close()
      await closed
    },
  }
}

function tellOfProgress(event: BulkheadEvent, { id }: ServedSession, calls: OpenCalls): void {
  if (!('callId' in event) || !('sessionId' in event) || event.sessionId !== id) return
  const text = event.type === 'ToolInvocationProgress' ? event.text : event.type === 'ToolInvocationUpdated' ? JSON.stringify(event.partial) : undefined
  if (text !== undefined) calls.find(event.callId)?.request.progress.tell(visibleText(text))
}

/**
 * Asks the person at a client, if the client supports it. `era` is known after the first message. In the modern era a client does
 * not report an abandoned question, so questions do not wait for each other.
 */
function personBehind(calls: OpenCalls, answerWithinMs: number, era: () => Era | undefined): Interactor {
  return {
    get takesMany() {
      return era() === 'modern'
    },
    async interact(envelope, signal): Promise<InteractionResponse> {
      const call = calls.askedFor(envelope.callId)
      const form = questionForm(envelope)
      if (!call?.request.canAsk || !form) throw cannotAsk(envelope.request)
      const reply = await elicit(call, form, envelope, signal, answerWithinMs)
      if (reply === undefined) return { status: 'timeout' }
      return signed(readReply(form, reply), envelope.request, call.request.client)
    },
  }
}

async function elicit(
  call: OpenCall, form: QuestionForm, { request }: InteractionEnvelope, signal: AbortSignal, withinMs: number,
): Promise<unknown> {
  try {
    return await call.ask(form, signal, withinMs)
  } catch (error) {
    signal.throwIfAborted()
    throw cannotAsk(request, `: ${visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS)}`)
  }
}

const MAX_FAULT_CHARS = 200

/** Whoever looks at an approval later sees where it was given. */
function signed(response: InteractionResponse, request: InteractionRequest, client: string): InteractionResponse {
  if (request.kind !== 'Approve' || response.status !== 'accepted') return response
  return { status: 'accepted', value: { ...response.value as object, by: `a person at ${client}` } }
}

function cannotAsk(request: InteractionRequest, why = ''): BulkheadError {
  const cannot = `this MCP client cannot ask a person${why}`
  const { tool } = 'approval' in request ? request.approval : {}
  return new BulkheadError('InteractionUnavailable', tool === undefined ? `${cannot}.` : `${cannot}; ${howToAllow(tool)}`)
}

const howToAllow = (tool: string): string =>
  `the operator can allow "${tool}" with a rule or the allowlist, or approve it for the project with "bulkhead call ${tool}" at a terminal`
