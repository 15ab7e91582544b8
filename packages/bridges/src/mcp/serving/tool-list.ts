import { hasEffects, type ToolDefinition } from '@bulkhead/contract'
import type { Tool } from '@modelcontextprotocol/server'

/** What a client knows of the list of tools. */
export class ShownList {
  readonly #present: () => readonly ToolDefinition[]
  /** Undefined for a client that has seen none. */
  #known: { readonly names: string; readonly text: string } | undefined

  constructor(present: () => readonly ToolDefinition[]) {
    this.#present = present
  }

  tool(name: string): ToolDefinition | undefined {
    return this.#present().find((tool) => tool.name === name)
  }

  /** The current list for the client. */
  show(): Tool[] {
    const tools = this.#present()
    const listed = tools.map(listedTool)
    this.#known = { names: namesOf(tools), text: JSON.stringify(listed) }
    return listed
  }

  /** Whether the list changed since the client last saw it. Reports each change once. */
  hasChanged(): boolean {
    if (this.#known === undefined) return false
    const { text } = this.#known
    this.show()
    return this.#known.text !== text
  }

  /** The same for what a call can change, which is what is shown, and not what it looks like: for every call. */
  hasOtherNames(): boolean {
    return this.#known !== undefined && this.#known.names !== namesOf(this.#present()) && this.hasChanged()
  }
}

const namesOf = (tools: readonly ToolDefinition[]): string => tools.map(({ name }) => name).join(' ')

/** The MCP definition of a tool. Our tool names are valid MCP names. */
export function listedTool(tool: ToolDefinition): Tool {
  const { name, label: title, description, inputSchema, outputSchema } = tool
  return {
    name, title, description,
    // Arguments are an object, also where the schema does not say so.
    inputSchema: { ...structuredClone(inputSchema), type: 'object' } as Tool['inputSchema'],
    ...(outputSchema ? { outputSchema: structuredClone(outputSchema) as NonNullable<Tool['outputSchema']> } : {}),
    annotations: { title, ...hintsOf(tool) },
  }
}

/** Hints follow from the permissions of a tool, not only from its declared mode. In doubt they overstate the effect. */
function hintsOf({ mode, requires, idempotent, executor }: ToolDefinition) {
  const isRemote = executor === 'remote'
  const mayChange = hasEffects(requires)
  const reachesOut = mode === 'external' || mode === 'local' || isRemote
    || (requires.net?.hosts?.length ?? 0) > 0 || (requires.shell?.length ?? 0) > 0
  return {
    readOnlyHint: mode === 'read' && !mayChange && !isRemote,
    destructiveHint: mode === 'destructive' || mode === 'local' || (mode !== 'read' && isRemote) || mayChange,
    idempotentHint: idempotent,
    openWorldHint: reachesOut,
  }
}
