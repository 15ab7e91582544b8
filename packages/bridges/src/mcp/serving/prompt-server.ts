import { toMcpBlock } from '@bulkhead/contract/dialects'
import type { CompleteResult, GetPromptResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { ClientFault } from './client-request.ts'
import { fromSource, mergedLists, type PromptSource, type SourceContext } from './content-source.ts'
import type { Resources } from './resource-server.ts'

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

  serveOn(server: Server, contextOf: ContextOf): void {
    server.setRequestHandler('prompts/list', async (_, context) => ({
      prompts: [...(await this.#listed(contextOf(context))).values()].map(({ entry: { arguments: args, ...entry } }) =>
        ({ ...entry, ...(args && { arguments: args.map((one) => ({ ...one })) }) })),
    }))
    server.setRequestHandler('prompts/get', async ({ params }, context) => {
      const args = new Map(Object.entries(params.arguments ?? {}))
      return this.#get(params.name, args, contextOf(context))
    })
  }

  /** Values for an argument of a prompt. */
  async complete(name: string, argument: string, context: SourceContext): Promise<readonly string[]> {
    const { source } = await this.#find(name, context)
    return fromSource(async () => await source.complete?.(name, argument, context) ?? [])
  }

  async #get(name: string, args: ReadonlyMap<string, string>, context: SourceContext): Promise<GetPromptResult> {
    const { entry, source } = await this.#find(name, context)
    const missing = entry.arguments?.filter(({ name: one, required }) => required === true && !args.has(one)) ?? []
    if (missing.length > 0) {
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
