import { toMcpBlock } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { CompleteResult, GetPromptResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { ClientFault, readRequest, type ClientRequest, type Era } from './client-request.ts'
import { fromSource, mergedLists, type PromptInfo, type PromptSource, type SourceContext } from './content-source.ts'
import { ANSWER } from './open-calls.ts'
import type { Resources } from './resource-server.ts'

type PromptArguments = NonNullable<PromptInfo['arguments']>
type ContextOf = (context: ServerContext) => SourceContext

/** The prompts of one client. */
export class Prompts {
  readonly #sources: readonly PromptSource[]

  constructor(sources: readonly PromptSource[]) {
    this.#sources = sources
  }

  get isEmpty(): boolean {
    return this.#sources.length === 0
  }

  /** Returns how to stop it. */
  watch(changed: () => void): () => void {
    const stops = this.#sources.map((source) => source.watch?.(changed))
    return () => stops.forEach((stop) => stop?.())
  }

  serveOn(server: Server, era: Era, contextOf: ContextOf): void {
    server.setRequestHandler('prompts/list', async (_, context) => ({
      prompts: [...(await this.#listed(contextOf(context))).values()].map(({ entry: { arguments: args, ...entry } }) =>
        ({ ...entry, ...(args && { arguments: args.map((one) => ({ ...one })) }) })),
    }))
    server.setRequestHandler('prompts/get', async ({ params }, context) => {
      const args = new Map(Object.entries(params.arguments ?? {}))
      return this.#get(params.name, args, readRequest(era, server, context.mcpReq), contextOf(context))
    })
  }

  /** Values for an argument of a prompt. */
  async complete(name: string, argument: string, context: SourceContext): Promise<readonly string[]> {
    const { source } = await this.#find(name, context)
    return fromSource(async () => await source.complete?.(name, argument, context) ?? [])
  }

  async #get(
    name: string, args: Map<string, string>, { canAsk, replies }: ClientRequest, context: SourceContext,
  ): Promise<GetPromptResult | InputRequiredResult> {
    const { entry, source } = await this.#find(name, context)
    for (const [key, value] of answersIn(replies?.get(ANSWER))) if (!args.has(key)) args.set(key, value)
    const missing = entry.arguments?.filter(({ name: one, required }) => required === true && !args.has(one)) ?? []
    if (missing.length > 0) {
      // An empty set of replies is the first request. A person who declined is not asked again.
      if (canAsk && replies?.size === 0) return questionFor(entry, missing)
      const names = missing.map((one) => one.name).join(', ')
      throw new ClientFault('InvalidParams', `The prompt needs further arguments: ${names}.`)
    }
    const { description, messages } = await fromSource(() => source.get(name, args, context))
    return {
      ...(description !== undefined && { description }),
      messages: messages.map(({ role, content }) => ({ role, content: toMcpBlock(content) })),
    } as GetPromptResult
  }

  async #find(name: string, context: SourceContext) {
    const found = (await this.#listed(context)).get(name)
    if (found) return found
    throw new ClientFault('InvalidParams', 'There is no prompt with this name.')
  }

  #listed(context: SourceContext) {
    return mergedLists(this.#sources, (source) => source.list(context), ({ name }) => name)
  }
}

/** In the modern era the person at the client is asked for missing arguments. The client repeats its request. */
function questionFor({ name, title = name }: PromptInfo, missing: PromptArguments): InputRequiredResult {
  const properties = Object.fromEntries(missing.map((one) => [
    one.name, { type: 'string', ...(one.description !== undefined && { description: one.description }) } as const,
  ]))
  const requestedSchema = { type: 'object', properties, required: missing.map((one) => one.name) } as const
  const params = { mode: 'form', message: `The prompt "${title}" needs further arguments.`, requestedSchema } as const
  return {
    resultType: 'input_required', inputRequests: { [ANSWER]: { method: 'elicitation/create', params } },
  } as InputRequiredResult
}

function answersIn(reply: unknown): readonly (readonly [string, string])[] {
  const { action, content } = isJsonObject(reply as Json) ? reply as JsonObject : {}
  if (action !== 'accept' || !isJsonObject(content)) return []
  return Object.entries(content).flatMap(([name, value]) => typeof value === 'string' ? [[name, value] as const] : [])
}

/** What the protocol allows in one response. */
const MAX_VALUES = 100

/** Completes arguments of prompts and variables of resource templates. */
export function serveCompletionOn(server: Server, prompts: Prompts, resources: Resources, contextOf: ContextOf): void {
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }, context) => {
    const values = ref.type === 'ref/prompt'
      ? await prompts.complete(ref.name, argument.name, contextOf(context))
      : await resources.complete(ref.uri, argument.name, contextOf(context))
    return completionOf(values, argument.value)
  })
}

function completionOf(values: readonly string[], written: string): CompleteResult {
  const start = written.toLowerCase()
  const fitting = values.filter((value) => value.toLowerCase().startsWith(start))
  const shown = fitting.slice(0, MAX_VALUES)
  return { completion: { values: shown, total: fitting.length, hasMore: fitting.length > shown.length } }
}
