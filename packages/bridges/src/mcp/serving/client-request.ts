import type { ClientCapabilities, Implementation, Server, ServerContext } from '@modelcontextprotocol/server'
import { visibleText } from '@bulkhead/kit/text'
import { ProgressNotes } from './progress-notes.ts'
import type { QuestionForm } from './question-form.ts'

/** legacy: what is asked is a request of the server. modern: what is asked is the answer to a call, which the client then makes again. */
export type Era = 'legacy' | 'modern'

/** One `tools/call` as it came over the wire, in whichever version of the protocol. */
export interface ClientRequest {
  /** Aborted when the client takes it back or is gone. */
  readonly signal: AbortSignal
  /** How the client calls itself. */
  readonly client: string
  /** Whether there is a person behind the client. */
  readonly canAsk: boolean
  readonly progress: ProgressNotes
  /**
   * Asks at once. Resolves with what came back, or undefined when nothing did in time; rejects when the client does not know how
   * to ask. Absent where the protocol has no such way.
   */
  readonly elicit?: (form: QuestionForm, signal: AbortSignal, withinMs: number) => Promise<unknown>
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const INFO = 'io.modelcontextprotocol/clientInfo'
const MAX_NAME_CHARS = 100

export function readRequest(era: Era, server: Server, { mcpReq }: ServerContext): ClientRequest {
  const envelope = (mcpReq.envelope ?? {}) as { readonly [CAPABILITIES]?: ClientCapabilities; readonly [INFO]?: Implementation }
  const info = era === 'modern' ? envelope[INFO] : server.getClientVersion()
  const { _meta: { progressToken } = {} } = mcpReq
  return {
    signal: mcpReq.signal,
    client: info ? visibleText(`${info.name} ${info.version}`.slice(0, MAX_NAME_CHARS)) : 'an MCP client',
    canAsk: showsForms(era === 'modern' ? envelope[CAPABILITIES] : server.getClientCapabilities()),
    progress: new ProgressNotes(async (progress, message) => {
      if (progressToken === undefined) return
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
    }),
    ...(era === 'legacy' ? { elicit: eliciting(mcpReq) } : {}),
  }
}

/** Before there were two kinds of elicitation, to say nothing of kinds meant forms. */
const showsForms = (capabilities: ClientCapabilities | undefined): boolean => {
  const { elicitation } = capabilities ?? {}
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

const eliciting = (mcpReq: ServerContext['mcpReq']): NonNullable<ClientRequest['elicit']> =>
  async ({ message, requestedSchema }, signal, withinMs) => {
    const late = AbortSignal.timeout(withinMs)
    const params = { message, requestedSchema }
    try {
      // Its own limit is out of the way: a person takes longer than a minute.
      return await mcpReq.send({ method: 'elicitation/create', params }, { signal: AbortSignal.any([signal, late]), timeout: withinMs * 2 })
    } catch (error) {
      signal.throwIfAborted()
      if (late.aborted) return undefined
      throw error
    }
  }
