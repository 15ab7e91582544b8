import { AGENT_TOOL, type ToolDefinition } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { Agents, UsableAgent } from './agents.ts'

const ARGUMENT = 'subagent_type'
const DESCRIPTION_CHARS = 200

/** The tools of a session, with its agents in the schema of `task`. */
export class DescribedTools {
  readonly #agents: () => Agents
  /** The last list, so that equal lists are one object. */
  #last: { readonly from: readonly ToolDefinition[]; readonly choice: string; readonly to: readonly ToolDefinition[] }
    | undefined

  constructor(agents: () => Agents) {
    this.#agents = agents
  }

  of(offered: OfferedTools): readonly ToolDefinition[] {
    const from = offered.definitions()
    const agents = from.some(({ name }) => name === AGENT_TOOL) ? this.#agents().usable : []
    // A host without agents accepts every name.
    if (agents.length === 0) return from
    const choice = agents.map(wordsOf).join('\n')
    if (this.#last?.from === from && this.#last.choice === choice) return this.#last.to
    const to = Object.freeze(from.map((tool) => tool.name === AGENT_TOOL ? withChoice(tool, agents) : tool))
    this.#last = { from, choice, to }
    return to
  }
}

function withChoice(tool: ToolDefinition, agents: readonly UsableAgent[]): ToolDefinition {
  const { properties } = tool.inputSchema
  const argument: Json | undefined = isJsonObject(properties) ? properties[ARGUMENT] : undefined
  if (!isJsonObject(properties) || !isJsonObject(argument)) return tool
  const chosen = {
    ...argument, enum: agents.map(({ name }) => name),
    description: [String(argument['description'] ?? ''), ...agents.map(wordsOf)].join('\n').trim(),
  }
  return Object.freeze({
    ...tool, inputSchema: { ...tool.inputSchema, properties: { ...properties, [ARGUMENT]: chosen } },
  })
}

const wordsOf = ({ name, manifest: { description } }: UsableAgent): string =>
  description === undefined ? name : `${name}: ${visibleText(description).slice(0, DESCRIPTION_CHARS).toWellFormed()}`
