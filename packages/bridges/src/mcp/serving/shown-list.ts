import type { Tool } from '@modelcontextprotocol/server'
import type { ToolDefinition } from '@bulkhead/contract'
import { listedTool } from './listed-tool.ts'

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

  /** The list as it is now, for the client. */
  show(): Tool[] {
    const tools = this.#present()
    const listed = tools.map(listedTool)
    this.#known = { names: namesOf(tools), text: JSON.stringify(listed) }
    return listed
  }

  /** Whether there is something to tell a client that has seen a list. Each change is told once. */
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
