import { messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type {
  ClientCapabilities, ElicitRequestFormParams, Implementation, JSONRPCRequest, Server, ServerContext,
} from '@modelcontextprotocol/server'
import { LogReporter, ProgressReporter } from './call-reports.ts'
import type { QuestionForm } from '../../questions/question-form.ts'

/**
 * legacy: a question is a request of the server. modern: a question is the response to a call, and the client repeats
 * the call.
 */
export type Era = 'legacy' | 'modern'

/** A form, with `_meta` of the request that shows it. */
export interface AskedForm extends QuestionForm {
  readonly meta?: Readonly<Record<string, unknown>>
}

/** A `tools/call` request of either era. */
export interface ClientRequest {
  /** Aborted when the client cancels the request or disconnects. */
  readonly signal: AbortSignal
  /** The name and version that the client declares. */
  readonly client: string
  /** Whether the client can ask a person. */
  readonly canAsk: boolean
  /** Whether the client supports the extension for tasks. */
  readonly takesTasks: boolean
  readonly progress: ProgressReporter
  readonly log: LogReporter
  /** Replies to questions, by the name of the question. Each is used once. Absent in the legacy era. */
  readonly replies?: Map<string, unknown>
  /**
   * Asks immediately. Resolves with the reply, or undefined after the timeout. Rejects if the client cannot ask. Absent
   * in the modern era.
   */
  readonly elicit?: (form: AskedForm, signal: AbortSignal, withinMs: number) => Promise<unknown>
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const INFO = 'io.modelcontextprotocol/clientInfo'
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'
const MAX_NAME_CHARS = 100

interface Envelope {
  readonly [CAPABILITIES]?: ClientCapabilities
  readonly [INFO]?: Implementation
}

type McpRequest = ServerContext['mcpReq']

/** The part of a request of the SDK that a call needs. */
export interface RequestPort extends Partial<Pick<McpRequest, '_meta' | 'envelope' | 'inputResponses'>> {
  readonly signal: AbortSignal
  readonly notify: McpRequest['notify']
  readonly log: McpRequest['log']
  readonly send: (
    request: { readonly method: 'elicitation/create'; readonly params: ElicitRequestFormParams },
    options: { readonly signal: AbortSignal; readonly timeout: number },
  ) => Promise<unknown>
}

export function readRequest(era: Era, server: Server, mcpReq: RequestPort): ClientRequest {
  const envelope = (mcpReq.envelope ?? {}) as Envelope
  const { _meta: { progressToken } = {} } = mcpReq
  return {
    signal: mcpReq.signal,
    get client() {
      const info = era === 'modern' ? envelope[INFO] : server.getClientVersion()
      return info ? visibleText(`${info.name} ${info.version}`.slice(0, MAX_NAME_CHARS)) : 'an MCP client'
    },
    get canAsk() {
      return showsForms(era === 'modern' ? envelope[CAPABILITIES] : server.getClientCapabilities())
    },
    takesTasks: era === 'modern' && declaresTasks(envelope as JsonObject),
    progress: new ProgressReporter(async (progress) => {
      if (progressToken === undefined) return
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
    }),
    // The SDK drops lines below the level that the client chose.
    log: new LogReporter((level, text, tool) => mcpReq.log(level, text, tool)),
    ...(era === 'legacy'
      ? { elicit: eliciting(mcpReq) }
      : { replies: new Map<string, unknown>(Object.entries(mcpReq.inputResponses ?? {})) }),
  }
}

/** Whether a request declares the extension for tasks, in its `_meta`. */
export function declaresTasks(meta: Json | undefined): boolean {
  const capabilities = isJsonObject(meta) ? meta[CAPABILITIES] : undefined
  const extensions = isJsonObject(capabilities) ? capabilities['extensions'] : undefined
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION])
}

/** In older versions, `elicitation` without a kind means forms. */
const showsForms = (capabilities: ClientCapabilities | undefined): boolean => {
  const { elicitation } = capabilities ?? {}
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

const eliciting = (mcpReq: RequestPort): NonNullable<ClientRequest['elicit']> =>
  async ({ message, requestedSchema, meta }, signal, withinMs) => {
    const late = AbortSignal.timeout(withinMs)
    const params = { message, requestedSchema, ...(meta && { _meta: meta }) }
    try {
      // Raise the timeout of the SDK: a person may need more than a minute.
      return await mcpReq.send(
        { method: 'elicitation/create', params }, { signal: AbortSignal.any([signal, late]), timeout: withinMs * 2 },
      )
    } catch (error) {
      signal.throwIfAborted()
      if (late.aborted) return undefined
      throw error
    }
  }

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/**
 * Checks the protocol version of a request of the modern era against the version of the connection. The SDK checks only
 * the first request.
 */
export function versionFault({ params }: JSONRPCRequest, negotiated: string | undefined): ClientFault | undefined {
  const { _meta: meta } = params ?? {}
  const requested = meta?.[VERSION]
  if (negotiated === undefined || typeof requested !== 'string' || requested === negotiated) return undefined
  const message = `This connection uses protocol version ${negotiated}.`
  return new ClientFault('UnsupportedVersion', message, { supported: [negotiated], requested })
}

/** A JSON-RPC error for the client. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault'
  readonly code: number
  /** Additional error data that the protocol requires. */
  readonly data: unknown

  constructor(code: keyof typeof CODES, message: string, data?: unknown) {
    super(message)
    this.code = CODES[code]
    this.data = data
  }
}

const CODES = {
  InvalidRequest: -32600, InvalidParams: -32602, MissingCapability: -32021, UnsupportedVersion: -32022,
  InternalError: -32603, ServerBusy: -32000,
} as const

/** What a client gets of an error. */
export function errorOf(error: unknown) {
  const { code, message, data } =
    error instanceof ClientFault ? error : new ClientFault('InternalError', messageOf(error))
  return { code, message, ...(data === undefined ? {} : { data }) }
}

/** For a request that cannot be processed without a capability that its client did not declare. */
export const missingCapability = (message: string, requiredCapabilities: ClientCapabilities): ClientFault =>
  new ClientFault('MissingCapability', message, { requiredCapabilities })
