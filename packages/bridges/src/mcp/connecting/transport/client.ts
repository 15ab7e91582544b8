import { BulkheadError, DEFAULT_LIMITS, MANIFEST_LIMITS } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  Client, isSpecType, type JSONRPCMessage, type jsonSchemaValidator, type JsonSchemaValidator, type Tool,
  type Transport,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { cut } from '../../../connected/entries.ts'
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Elicitation } from '../elicitation.ts'
import type { Target } from '../server-entry.ts'
import { Account } from '../sign-in/account.ts'
import { Authorization } from '../sign-in/authorization.ts'
import type { CredentialFile } from '../sign-in/credentials.ts'
import type { SignInPrompt } from '../sign-in/sign-in.ts'
import { boundedFetch, HttpTransport } from './http-transport.ts'
import { ProcessTransport } from './process-transport.ts'

export interface ClientOptions {
  readonly name: string
  readonly target: Target
  /** Our name and version for the server. */
  readonly self: { readonly name: string; readonly version: string }
  readonly elicitation: Elicitation
  readonly signal: AbortSignal
  /** The tokens for a remote server. */
  readonly credentials: CredentialFile | undefined
  /** The callbacks must not throw. `onSecrets` gets everything that must not appear in messages. */
  onSecrets(secrets: ReadonlyMap<string, string>): void
  onListChanged(): void
  onStderr(line: string): void
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
  call(request: CallRequest): Promise<unknown>
  /** Resolves when the server has ended, with the reason if it is known. Never rejects. */
  readonly ended: Promise<Error | undefined>
  /** Resolves when the connection and its process have ended. Idempotent. */
  close(): Promise<void>
  /** Closes the connection after its running calls. */
  retire(): void
}

const MAX_MESSAGE_BYTES = DEFAULT_LIMITS.messageBytes
const MAX_LISTED = 2 * MANIFEST_LIMITS.tools
/** A page has at least one tool. */
const MAX_PAGES = MAX_LISTED
/** The SDK requires a timeout. The signal of a call has its real deadline. */
const LONGEST_MS = 2 * 60 * 60 * 1000

/** The key for the unchecked list of tools. */
const LISTED = 'bulkhead/listed'

/** The last page has no cursor. Some servers send null or an empty string instead. */
const page = z.looseObject({
  tools: z.array(z.unknown()), [LISTED]: z.array(z.unknown()).optional(),
  nextCursor: z.string().optional().transform((cursor) => cursor || undefined),
})

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
  const { self, name, elicitation, signal } = options
  const client = new Client(self, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode },
    jsonSchemaValidator: NO_VALIDATION,
    listChanged: { tools: { autoRefresh: false, onChanged: () => options.onListChanged() } },
  })
  client.setRequestHandler('elicitation/create', ({ params }) => elicitation.answer(name, params))
  const ended = Promise.withResolvers<Error | undefined>()
  let last: Error | undefined
  Object.assign(client, {
    onerror: (error: Error) => {
      last = error
    },
    onclose: () => ended.resolve(last),
  } satisfies Pick<Client, 'onerror' | 'onclose'>)
  const transport = transportOf(options, authorization)
  const faultOf = (error: unknown) => authorization?.faultOf(error) ?? error
  const close = async () => {
    await client.close().catch(() => undefined)
    await transport.close().catch(() => undefined)
  }
  try {
    signal.throwIfAborted()
    await client.connect(transport, { signal, timeout: LONGEST_MS })
  } catch (error) {
    await close()
    throw last instanceof RangeError ? last : faultOf(error)
  }
  const { onmessage } = transport
  Object.assign(transport, {
    onmessage: (message, extra) => onmessage?.(readableResult(message), extra),
  } satisfies Pick<Transport, 'onmessage'>)
  let running = 0
  let isRetired = false
  const leave = (): void => {
    if (isRetired && running === 0) void close()
  }
  return {
    version: client.getServerVersion()?.version ?? '',
    sendsHeaders: options.target.type === 'remote' && client.getProtocolEra() === 'modern',
    ended: ended.promise,
    close,
    retire() {
      isRetired = true
      leave()
    },
    list: (within) => listAll(client, within).catch((error: unknown) => {
      throw faultOf(error)
    }),
    async call(request) {
      running++
      try {
        return await callTool(client, request)
      } catch (error) {
        throw faultOf(error)
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

async function listAll(client: Client, signal: AbortSignal): Promise<readonly unknown[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const all: unknown[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const params = cursor === undefined ? {} : { cursor }
    const { tools, [LISTED]: listed = tools, nextCursor } = await client.request(
      { method: 'tools/list', params }, page, { signal, timeout: LONGEST_MS },
    )
    all.push(...listed)
    if (nextCursor === undefined || all.length > MAX_LISTED) return all
    cursor = nextCursor
  }
  throw new Error(`The list of tools has more than ${MAX_PAGES} pages.`)
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

const TYPE_CHARS = 64
/** Each of these members marks the result of a call. */
const MEMBERS = ['content', 'structuredContent', 'isError'] as const

/**
 * Prepares a result for the SDK, which rejects a whole result for one invalid part. Invalid content blocks are replaced
 * with a note, tools are passed on unchecked, and null members are removed.
 */
export function readableResult(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message)) return message
  const { tools, content = [], ...result } = withoutNulls(message.result as JsonObject)
  if (Array.isArray(tools)) return { ...message, result: { ...result, tools: [], [LISTED]: tools } }
  if (!MEMBERS.some((member) => member in message.result)) return message
  return { ...message, result: { ...result, content: [content].flat().map(readableBlock) } }
}

function readableBlock(block: Json): Json {
  if (isSpecType.ContentBlock(block)) return block as Json
  if (typeof block === 'string') return { type: 'text', text: block }
  if (!isJsonObject(block)) return leftOut('something that is not a content block')
  const bare = withoutMetadata(block)
  if (isSpecType.ContentBlock(bare)) return bare
  const { type } = bare
  return leftOut(
    typeof type === 'string' ? `an unsupported block of type "${cut(type, TYPE_CHARS)}"` : 'a block without a type',
  )
}

const leftOut = (what: string): JsonObject =>
  ({ type: 'text', text: `[removed from the result: the server sent ${what}]` })

/** Removes metadata that might be invalid. */
function withoutMetadata({ annotations: _annotations, _meta, icons: _icons, ...block }: JsonObject): JsonObject {
  const { resource, ...rest } = withoutNulls(block)
  return isJsonObject(resource) ? { ...rest, resource: withoutMetadata(resource) } : rest
}

const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
