import {
  BulkheadError, type CallProgress, type EventListener, type EventType, type InteractionEnvelope,
  type InteractionRequest, type InteractionResponse, type Interactor, type Outcome, type ToolDefinition,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import type { Implementation, Server, Transport } from '@modelcontextprotocol/server'
import { BoundedTransport } from './bounded-transport.ts'
import { versionFault, type Era } from './client-request.ts'
import { OpenCalls, type OpenCall } from './open-calls.ts'
import { questionForm, readReply, type QuestionForm } from './question-form.ts'
import { ToolList, serveToolsOn } from './tool-server.ts'

/** The part of a session that serving needs. */
export interface ServedSession {
  readonly id: string
  tools(): readonly ToolDefinition[]
  call(
    call: { readonly id: string; readonly name: string; readonly arguments: unknown },
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: CallProgress) => void },
  ): Promise<Outcome>
  close(): Promise<void>
}

/** The part of a host that serving needs. */
export interface ServedHost {
  /** The tools to list for a session. Default: all. */
  offeredTools?(session: ServedSession): readonly ToolDefinition[]
  on(listener: EventListener, types: readonly EventType[]): () => void
}

export interface ServeOptions {
  /** Name and version of the server. */
  readonly info: Implementation
  /** Opens the session of the client. The interactor asks the person at the client. Called once. */
  readonly openSession: (person: Interactor) => Promise<ServedSession>
  /** A transport of the SDK for one client, not started. Default: standard input and output of this process. */
  readonly transport?: Transport
  /** Instructions for the model. */
  readonly instructions?: string
  /** Time for a person to answer. Default: 5 minutes. */
  readonly answerWithinMs?: number
  /** Maximum number of open requests, and of open calls. Default: 128. */
  readonly maxOpen?: number
  /** Called for client errors and failed sends. Serving continues. */
  readonly onFault?: (error: Error) => void
}

export interface Serving {
  /** Resolves when the client has disconnected and its session is closed. Never rejects. */
  readonly closed: Promise<void>
  /** Disconnects. Resolves like `closed`. Idempotent. */
  close(): Promise<void>
}

const DEFAULT_INSTRUCTIONS = 'Each tool has only the permissions it declared. Some calls wait for approval by a '
  + 'person. If a call is denied, the error gives the reason. Do not repeat the call unchanged.'

/**
 * Serves the tools of a host to one MCP client, in one session: its policy applies to every call, and approvals are
 * asked of the person at the client. Ends when the client disconnects or with `close`. The host stays open. Rejects if
 * `openSession` does, or if `@modelcontextprotocol/server` is not installed.
 */
export async function serveTools(host: ServedHost, options: ServeOptions): Promise<Serving> {
  const { info, instructions = DEFAULT_INSTRUCTIONS, answerWithinMs = 300_000, maxOpen = 128, onFault } = options
  // Imported here because MCP clients do not need it.
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([
    import('@modelcontextprotocol/server'), import('@modelcontextprotocol/server/stdio'),
  ])
  const calls: OpenCalls = new OpenCalls({
    run: (call, signal) => session.call(call, { signal, onProgress: (progress) => report(call.id, progress) }),
    answerWithinMs, maxOpen,
  })
  const report = (callId: string, { text, partial }: CallProgress) =>
    calls.find(callId)?.request.progress.report(visibleText(text ?? JSON.stringify(partial)))
  let clientEra: Era | undefined
  const session = await options.openSession(clientInteractor(calls, answerWithinMs, () => clientEra))
  const list = new ToolList(() => host.offeredTools?.(session) ?? session.tools())

  let server: Server | undefined
  const notifyIf = (hasChanged: boolean) => {
    if (hasChanged) server?.sendToolListChanged().catch((error: Error) => onFault?.(error))
  }
  const off = host.on(() => notifyIf(list.hasChanged()), ['ToolsChanged'])

  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const end = () => {
    off()
    calls.end()
    resolve(session.close().catch((error: Error) => onFault?.(error)))
  }
  const transport = new BoundedTransport(options.transport ?? new StdioServerTransport(), {
    maxOpen,
    faultOf: (request) => versionFault(
      request, clientEra === 'modern' ? server?.getNegotiatedProtocolVersion() : undefined,
    ),
    closed: end,
  })
  const handle = serveStdio(({ era }) => {
    clientEra = era
    server = new sdk.Server(info, { capabilities: { tools: { listChanged: true } }, instructions })
    serveToolsOn(server, era, { calls, list, called: () => notifyIf(list.hasNewNames()) })
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

/**
 * Asks the person at a client, if the client supports it. `era` is known after the first message. In the modern era a
 * client does not report an abandoned question, so questions do not wait for each other.
 */
function clientInteractor(calls: OpenCalls, answerWithinMs: number, era: () => Era | undefined): Interactor {
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

/** Records where an approval was given. */
function signed(response: InteractionResponse, request: InteractionRequest, client: string): InteractionResponse {
  if (request.kind !== 'Approve' || response.status !== 'accepted') return response
  return { status: 'accepted', value: { ...response.value as object, by: `a person at ${client}` } }
}

function cannotAsk(request: InteractionRequest, why = ''): BulkheadError {
  const cannot = `this MCP client cannot ask a person${why}`
  const { tool } = 'approval' in request ? request.approval : {}
  return new BulkheadError(
    'InteractionUnavailable', tool === undefined ? `${cannot}.` : `${cannot}; ${howToAllow(tool)}`,
  )
}

const howToAllow = (tool: string): string =>
  `the operator can allow "${tool}" with a rule or the allowlist, or approve it for the project with `
  + `"bulkhead call ${tool}" at a terminal`
