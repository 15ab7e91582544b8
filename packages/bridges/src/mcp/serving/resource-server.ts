import type { ReadResourceResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { ClientFault, type Era } from './client-request.ts'
import {
  fromSource, mergedLists, type ResourceContents, type ResourceSource, type SourceContext,
} from './content-source.ts'

const MAX_URI_CHARS = 2_048
const MAX_SUBSCRIPTIONS = 256
/** Of text or base64, so that a message stays below the limit of clients. */
const MAX_CHARS = 8 * 1024 * 1024

/** The resources of one client, and those whose changes it wants to know. */
export class Resources {
  readonly #sources: readonly ResourceSource[]
  readonly #subscribed = new Set<string>()
  #era: Era | undefined

  constructor(sources: readonly ResourceSource[]) {
    this.#sources = sources
  }

  /** In the modern era the SDK knows what a client listens to. */
  isWatched(uri: string): boolean {
    return this.#era === 'modern' || this.#subscribed.has(uri)
  }

  /** Returns how to stop it. */
  watch(changed: (uri?: string) => void): () => void {
    const stops = this.#sources.map((source) => source.watch?.(changed))
    return () => stops.forEach((stop) => stop?.())
  }

  serveOn(server: Server, era: Era, contextOf: (context: ServerContext) => SourceContext): void {
    this.#era = era
    server.setRequestHandler('resources/list', async (_, context) => {
      const listed = await mergedLists(this.#sources, (source) => source.list(contextOf(context)), ({ uri }) => uri)
      return { resources: [...listed.values()].map(({ entry }) => ({ ...entry })) }
    })
    server.setRequestHandler('resources/templates/list', async (_, context) => {
      const templates = await this.#templates(contextOf(context))
      return { resourceTemplates: [...templates.values()].map(({ entry }) => ({ ...entry })) }
    })
    server.setRequestHandler('resources/read', async ({ params: { uri } }, context) =>
      this.#read(uri, contextOf(context)))
    if (era === 'modern') return
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      if (uri.length > MAX_URI_CHARS) throw notFound(uri)
      if (this.#subscribed.size >= MAX_SUBSCRIPTIONS && !this.#subscribed.has(uri)) {
        throw new ClientFault('ServerBusy', `${MAX_SUBSCRIPTIONS} resources are watched. Unsubscribe from some first.`)
      }
      this.#subscribed.add(uri)
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      this.#subscribed.delete(uri)
      return {}
    })
  }

  /** Values for a variable of a template. */
  async complete(uriTemplate: string, variable: string, context: SourceContext): Promise<readonly string[]> {
    const found = (await this.#templates(context)).get(uriTemplate)
    if (!found) throw new ClientFault('InvalidParams', 'There is no resource template with this URI.')
    return fromSource(async () => await found.source.complete?.(uriTemplate, variable, context) ?? [])
  }

  #templates(context: SourceContext) {
    return mergedLists(this.#sources, (source) => source.templates?.(context), ({ uriTemplate }) => uriTemplate)
  }

  async #read(uri: string, context: SourceContext): Promise<ReadResourceResult> {
    for (const source of uri.length > MAX_URI_CHARS ? [] : this.#sources) {
      const contents = await fromSource(() => source.read(uri, context))
      if (contents === undefined) continue
      const { length } = textOf(contents)
      if (length <= MAX_CHARS) return { contents: [contents] } as ReadResourceResult
      throw new ClientFault(
        'InternalError', `The resource has ${length} characters, which is more than the limit of ${MAX_CHARS}.`,
      )
    }
    throw notFound(uri)
  }
}

const textOf = (contents: ResourceContents): string => 'text' in contents ? contents.text : contents.blob

/** The code is that of both eras. Older versions named -32002, which the newest one replaces. */
const notFound = (uri: string): ClientFault =>
  new ClientFault('InvalidParams', 'There is no such resource.', { uri: uri.slice(0, MAX_URI_CHARS) })
