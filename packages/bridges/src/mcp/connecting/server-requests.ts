import { pathToFileURL } from 'node:url'
import { BulkheadError } from '@bulkhead/contract'
import { findJsonFault, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Target } from './server-entry.ts'

/** A folder or place that a server may know. */
export interface McpRoot {
  /** An absolute URI, usually of a folder: `file:///…`. */
  readonly uri: string
  readonly name?: string
}

/** A request of a server for an answer of your model. Its texts are untrusted. */
export interface SamplingRequest {
  /** The name of the server. */
  readonly server: string
  readonly messages: readonly JsonObject[]
  readonly systemPrompt?: string
  readonly maxTokens: number
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
  readonly modelPreferences?: JsonObject
  readonly signal: AbortSignal
}

export interface SamplingResult {
  readonly text: string
  /** The name of the model. */
  readonly model: string
  readonly stopReason?: string
}

/** What an embedder gives to servers. Without a function, servers do not get it. */
export interface McpEmbedder {
  /** The roots of a remote server. Default: none. */
  roots?(server: string): readonly McpRoot[]
  /** Answers requests of servers with your model. Default: they are refused. */
  sample?(request: SamplingRequest): Promise<SamplingResult>
}

/** A local server gets the folders that it may read: those of its grant or, without a jail, the workspace. */
export function rootsOf(name: string, target: Target, embedder: McpEmbedder): readonly McpRoot[] | undefined {
  if (target.type === 'remote') return embedder.roots?.(name)
  const folders = target.jail?.grant.read ?? [target.cwd]
  return folders.length === 0 ? undefined : [...new Set(folders)].map((folder) => ({ uri: pathToFileURL(folder).href }))
}

const REQUEST = { maxDepth: 32, maxNodes: 10_000, maxChars: 256 * 1024 }
const MAX_TOKENS = 8_192
const MAX_AT_ONCE = 2
const MAX_PER_CALL = 16

/** Answers the sampling requests of one server, within limits. A request outside of a call is refused. */
export class Sampling {
  readonly #server: string
  readonly #sample: NonNullable<McpEmbedder['sample']>
  readonly #isCalling: () => boolean
  #running = 0
  #sinceIdle = 0

  constructor(server: string, sample: NonNullable<McpEmbedder['sample']>, isCalling: () => boolean) {
    this.#server = server
    this.#sample = sample
    this.#isCalling = isCalling
  }

  /** Call this when a call begins and no other runs. */
  reset(): void {
    this.#sinceIdle = 0
  }

  async answer(params: unknown, signal: AbortSignal): Promise<JsonObject> {
    if (!this.#isCalling()) throw refused('no call is running')
    if (findJsonFault(params, REQUEST)) throw refused('the request is too large')
    if (this.#running >= MAX_AT_ONCE) throw refused(`${MAX_AT_ONCE} requests are open`)
    if (this.#sinceIdle >= MAX_PER_CALL) throw refused(`a call may make ${MAX_PER_CALL} requests`)
    const { messages, systemPrompt, maxTokens, temperature, stopSequences, modelPreferences } = params as
      Record<string, Json> & Pick<SamplingRequest, 'messages' | 'maxTokens'>
    this.#running++
    this.#sinceIdle++
    try {
      const { text, model, stopReason } = await this.#sample({
        server: this.#server, messages, maxTokens: Math.min(maxTokens, MAX_TOKENS), signal,
        ...given({ systemPrompt, temperature, stopSequences, modelPreferences }),
      } as SamplingRequest)
      return { role: 'assistant', content: { type: 'text', text }, model, ...(stopReason !== undefined && { stopReason }) }
    } finally {
      this.#running--
    }
  }
}

const given = (fields: Record<string, Json | undefined>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const refused = (why: string): BulkheadError => new BulkheadError('CapabilityDenied', `Sampling is refused: ${why}.`)
