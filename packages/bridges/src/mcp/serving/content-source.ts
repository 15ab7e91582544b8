import type { Content } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { ClientFault } from './client-request.ts'
import type { ServedSession } from './served-session.ts'

/** The client that a source answers. */
export interface SourceContext {
  readonly session: ServedSession
  /** Aborted when the client cancels the request or disconnects. */
  readonly signal: AbortSignal
  /** Tells the operator what is left out, through `onFault`. */
  report(fault: string): void
}

export interface ResourceInfo {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

export interface ResourceTemplateInfo extends Omit<ResourceInfo, 'uri'> {
  /** RFC 6570, such as `logs://{day}`. */
  readonly uriTemplate: string
}

/** Text, or bytes in base64. */
export type ResourceContents =
  & { readonly uri: string; readonly mimeType?: string; readonly _meta?: Readonly<Record<string, string>> }
  & ({ readonly text: string } | { readonly blob: string })

/** Resources for MCP clients. It must give a session only what belongs to it. */
export interface ResourceSource {
  list(context: SourceContext): Promise<readonly ResourceInfo[]>
  /** undefined if it has no such resource for this session. */
  read(uri: string, context: SourceContext): Promise<ResourceContents | undefined>
  templates?(context: SourceContext): Promise<readonly ResourceTemplateInfo[]>
  /** Values for a variable of a template. Those that do not begin with what the client wrote are left out later. */
  complete?(uriTemplate: string, variable: string, context: SourceContext): Promise<readonly string[]>
  /** Calls back with the URI of a changed resource, or without one if the list changed. Returns how to stop it. */
  watch?(changed: (uri?: string) => void): () => void
}

export interface PromptInfo {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[]
}

export interface PromptText {
  readonly description?: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: Content }[]
}

/** Prompts for MCP clients. */
export interface PromptSource {
  list(context: SourceContext): Promise<readonly PromptInfo[]>
  /** Called with a name of its list and all required arguments. */
  get(name: string, args: ReadonlyMap<string, string>, context: SourceContext): Promise<PromptText>
  /** Values for an argument, as of a resource. */
  complete?(name: string, argument: string, context: SourceContext): Promise<readonly string[]>
  /** Calls back when the list changed. Returns how to stop it. */
  watch?(changed: () => void): () => void
}

const MAX_FAULT_CHARS = 500

/** Runs a source. An error that is not for the client becomes one. */
export async function fromSource<Value>(run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ClientFault) throw error
    throw new ClientFault('InternalError', visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS))
  }
}

/** Entries of one list that a client gets. */
const MAX_LISTED = 1_000

/** The lists of all sources as one. The first entry of a key is kept. */
export async function mergedLists<Source, Entry>(
  sources: readonly Source[], listOf: (source: Source) => Promise<readonly Entry[]> | undefined,
  keyOf: (entry: Entry) => string,
): Promise<ReadonlyMap<string, { readonly entry: Entry; readonly source: Source }>> {
  const merged = new Map<string, { readonly entry: Entry; readonly source: Source }>()
  for (const source of sources) {
    for (const entry of await fromSource(async () => await listOf(source) ?? [])) {
      if (merged.size < MAX_LISTED && !merged.has(keyOf(entry))) merged.set(keyOf(entry), { entry, source })
    }
  }
  return merged
}
