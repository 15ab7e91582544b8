import { BulkheadError, DEFAULT_LIMITS } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  Client, type CreateMessageResult, type jsonSchemaValidator, type JsonSchemaValidator, type Tool,
  type Transport,
} from '@modelcontextprotocol/client'
import type { CatalogTool } from '../catalog/catalog.ts'
import type { ListedContent } from '../catalog/server-content.ts'
import type { Elicitation } from '../elicitation.ts'
import type { Target } from '../server-entry.ts'
import type { McpRoot, Sampling } from '../server-requests.ts'
import { Account } from '../sign-in/account.ts'
import { Authorization } from '../sign-in/authorization.ts'
import type { CredentialFile } from '../sign-in/credentials.ts'
import type { SignInPrompt } from '../sign-in/sign-in.ts'
import { type AnswerInput, resultOfCall, TASKS_EXTENSION } from './awaited-task.ts'
import { boundedFetch, HttpTransport } from './http-transport.ts'
import { listContent, listTools, LONGEST_MS, useContent } from './lists.ts'
import { tapMessages } from './message-tap.ts'
import { ProcessTransport } from './process-transport.ts'
import { readableResult } from './readable-result.ts'

export interface ClientOptions {
  readonly name: string
  readonly target: Target
  /** Our name and version for the server. */
  readonly self: { readonly name: string; readonly version: string }
  readonly elicitation: Elicitation
  /** undefined: the server cannot ask for them. */
  readonly roots: readonly McpRoot[] | undefined
  readonly sampling: Sampling | undefined
  readonly signal: AbortSignal
  /** The tokens for a remote server. */
  readonly credentials: CredentialFile | undefined
  /** The callbacks must not throw. `onSecrets` gets everything that must not appear in messages. */
  onSecrets(secrets: ReadonlyMap<string, string>): void
  onListChanged(): void
  onStderr(line: string): void
  /** Each message of the connection. `in`: from the server. */
  onFrame?(direction: 'in' | 'out', message: unknown): void
}

export interface CallRequest {
  readonly tool: CatalogTool
  readonly args: JsonObject
  readonly signal: AbortSignal
  onProgress(text: string): void
}

/** A connected server. */
export interface LiveClient {
  /** The version that the server declares. */
  readonly version: string
  /** Whether parameters are also sent as headers, if a tool declares them. */
  readonly sendsHeaders: boolean
  /** The list of tools, unchecked. Rejects if the list has too many pages. */
  list(signal: AbortSignal): Promise<readonly unknown[]>
  /** The lists of resources and prompts, unchecked. A list is absent if the server does not announce it. */
  content(signal: AbortSignal): Promise<ListedContent>
  call(request: CallRequest): Promise<unknown>
  /** Of a local server. */
  readonly pid: number | undefined
  /** Resolves when the server has ended, with the reason if it is known. Never rejects. */
  readonly ended: Promise<Error | undefined>
  /** Resolves when the connection and its process have ended. Idempotent. */
  close(): Promise<void>
  /** Closes the connection after its running calls. */
  retire(): void
}

const MAX_MESSAGE_BYTES = DEFAULT_LIMITS.messageBytes

/** Output schemas are not enforced here. Untrusted schemas are compiled only in their own thread. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator: <T>(): JsonSchemaValidator<T> => (input) => ({
    valid: true, data: input as T, errorMessage: undefined,
  }),
}

/**
 * Connects to a server. If it rejects, nothing is left running. For a local server, the older handshake is tried first,
 * because nearly all servers support it. If the server rejects it, it is restarted and the version is negotiated.
 */
export async function openClient(options: ClientOptions): Promise<LiveClient> {
  if (options.target.type === 'remote') return connect(options, 'auto', authorizationOf(options))
  try {
    return await connect(options, 'legacy')
  } catch (error) {
    if (options.signal.aborted || !isRefusal(error)) throw error
    return connect(options, 'auto')
  }
}

const isRefusal = (error: unknown): boolean => typeof (error as { code?: unknown }).code === 'number'

/** Signs a person in, with a connection of its own: the server tells with its first response what it demands. */
export async function signIn(options: ClientOptions, prompt: SignInPrompt): Promise<void> {
  const authorization = authorizationOf(options, prompt)
  if (!authorization) {
    const { name } = options
    const message = `The MCP server "${name}" has no sign-in: it is local, sends the header Authorization, or uses http.`
    throw new BulkheadError('SignInFailed', message, { data: { server: name } })
  }
  const probe = connect(options, 'auto', authorization).then((live) => live.close())
  await probe.catch((error: unknown) => {
    // Without a challenge, the documents of the server may still name its authorization server.
    if (BulkheadError.is(error) || prompt.signal.aborted) throw error
  })
  await authorization.signInOnce()
}

function authorizationOf(
  { name, target, credentials, onSecrets }: ClientOptions, prompt?: SignInPrompt,
): Authorization | undefined {
  if (target.type === 'local' || target.oauth === undefined || credentials === undefined) return undefined
  const account = new Account({ name, url: target.url, settings: target.oauth, credentials, onSecrets })
  return new Authorization(account, prompt)
}

async function connect(
  options: ClientOptions, mode: 'legacy' | 'auto', authorization?: Authorization,
): Promise<LiveClient> {
  const { self, name, elicitation, roots, sampling, signal } = options
  const changed = { autoRefresh: false, onChanged: () => options.onListChanged() }
  const client = new Client(self, {
    capabilities: {
      elicitation: { form: {} }, extensions: { [TASKS_EXTENSION]: {} },
      ...(roots && { roots: {} }), ...(sampling && { sampling: {} }),
    },
    versionNegotiation: { mode },
    jsonSchemaValidator: NO_VALIDATION,
    listChanged: { tools: changed, resources: changed, prompts: changed },
  })
  client.setRequestHandler('elicitation/create', ({ params }) => elicitation.answer(name, params))
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: roots.map((root) => ({ ...root })) }))
  if (sampling) {
    client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) =>
      await sampling.answer(params, mcpReq.signal) as unknown as CreateMessageResult)
  }
  const answer: AnswerInput = async (method, params, until) => {
    if (method === 'elicitation/create') return await elicitation.answer(name, params as never) as unknown as Json
    if (method === 'sampling/createMessage') return await sampling?.answer(params, until) as unknown as Json | undefined
    return method === 'roots/list' && roots ? { roots: roots.map((root) => ({ ...root })) } as Json : undefined
  }
  const ended = Promise.withResolvers<Error | undefined>()
  let last: Error | undefined
  Object.assign(client, {
    onerror: (error: Error) => {
      last = error
    },
    onclose: () => ended.resolve(last),
  } satisfies Pick<Client, 'onerror' | 'onclose'>)
  const transport = transportOf(options, authorization)
  if (options.onFrame) tapMessages(transport, (direction, message) => options.onFrame!(direction, message))
  const faultOf = async (error: unknown) => authorization ? authorization.faultOf(error) : error
  const close = async () => {
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  try {
    signal.throwIfAborted()
    await client.connect(transport, { signal, timeout: LONGEST_MS })
  } catch (error) {
    await close()
    throw last instanceof RangeError ? last : await faultOf(error)
  }
  const { onmessage } = transport
  Object.assign(transport, {
    onmessage: (message, extra) => {
      onmessage?.(readableResult(message), extra)
    },
  } satisfies Pick<Transport, 'onmessage'>)
  let running = 0
  let isRetired = false
  const leave = (): void => {
    if (isRetired && running === 0) void close()
  }
  return {
    version: client.getServerVersion()?.version ?? '',
    pid: transport instanceof ProcessTransport ? transport.pid : undefined,
    sendsHeaders: options.target.type === 'remote' && client.getProtocolEra() === 'modern',
    ended: ended.promise,
    close,
    retire() {
      isRetired = true
      leave()
    },
    list: (within) => listTools(client, within).catch(async (error: unknown) => {
      throw await faultOf(error)
    }),
    content: (within) => listContent(client, within),
    async call(request) {
      running++
      try {
        const { tool: { access }, args, signal: until } = request
        if (access) return await useContent(client, access, args, until)
        return await resultOfCall(client, await callTool(client, request), until, answer)
      } catch (error) {
        throw await faultOf(error)
      } finally {
        running--
        leave()
      }
    },
  }
}

function transportOf({ target, onStderr }: ClientOptions, authProvider: Authorization | undefined): Transport {
  if (target.type === 'local') return new ProcessTransport({ ...target, maxMessageBytes: MAX_MESSAGE_BYTES, onStderr })
  return new HttpTransport(target.url, {
    requestInit: { headers: { ...target.headers } }, redirectPolicy: 'same-origin',
    fetch: boundedFetch(MAX_MESSAGE_BYTES),
    ...(authProvider && { authProvider }),
    // The next call reconnects.
    reconnectionOptions: {
      initialReconnectionDelay: 1_000, maxReconnectionDelay: 60_000, reconnectionDelayGrowFactor: 2, maxRetries: 2,
    },
  })
}

async function callTool(
  client: Client, { tool: { name, definition }, args, signal, onProgress }: CallRequest,
): Promise<unknown> {
  const { inputSchema = {} } = definition
  return client.callTool({ name, arguments: args as Record<string, Json> }, {
    signal, timeout: LONGEST_MS,
    // Without an output schema, so that the SDK does not validate results.
    toolDefinition: {
      name, inputSchema: { ...isJsonObject(inputSchema) && inputSchema, type: 'object' } as Tool['inputSchema'],
    },
    onprogress: ({ progress, total, message }) =>
      onProgress(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)),
  })
}
