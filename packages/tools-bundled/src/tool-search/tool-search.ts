import { defineTool, isBundledTool } from '@bulkhead/contract'
import { findTools, type SearchedTool } from '../model/find-tools.ts'

const MATCHES = 10
const DESCRIPTION_CHARS = 200

/** The tools to search. Found tools are reported, so that they can be offered to the model. */
export interface ToolCatalog {
  /** Those that a session can call. */
  tools(sessionId: string): readonly SearchedTool[]
  found(sessionId: string, names: readonly string[]): void
}

const EMPTY: ToolCatalog = { tools: () => [], found: () => undefined }

export const createTool = ({ catalog = EMPTY }: { readonly catalog?: ToolCatalog | undefined }) => defineTool({
  label: 'Find tools',
  description: 'Finds more tools by what they do. You can call the tools it returns.',
  input: {
    type: 'object',
    properties: {
      query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What the tool should do, in a few words.' },
      max_results: { type: 'integer', minimum: 1, maximum: 10, description: 'Maximum number of results. Default: 10.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
  requires: { capabilities: ['session'] },
  gated: false,
  mode: 'read',
  kind: 'search',
  idempotent: true,
  async execute({ query, max_results = MATCHES }, { session }) {
    const sessionId = await session.id()
    const others = catalog.tools(sessionId).filter(({ name }) => !isBundledTool(name))
    const best = findTools(query, others).slice(0, max_results)
    catalog.found(sessionId, best.map(({ name }) => name))
    return { matches: best.map(({ name, description }) => ({ id: name, description: shortened(description) })) }
  },
  deriveApprovalKey: () => 'tool-registry',
})

const shortened = (text: string): string =>
  text.length <= DESCRIPTION_CHARS ? text : `${text.slice(0, DESCRIPTION_CHARS - 1).toWellFormed()}…`

/** With more tools than this besides the bundled ones, the model sees only the bundled tools and those it has found. */
export const SHELF_THRESHOLD = 20

/** The tools that each session has found. */
export class ToolShelf {
  readonly #found = new Map<string, Set<string>>()
  readonly #threshold: number

  constructor(threshold = SHELF_THRESHOLD) {
    this.#threshold = threshold
  }

  found(sessionId: string, names: readonly string[]): void {
    const found = this.#found.get(sessionId) ?? new Set()
    for (const name of names) found.add(name)
    this.#found.set(sessionId, found)
  }

  /** The tools that the model of a session is shown. */
  offered<Tool extends { readonly name: string }>(sessionId: string, tools: readonly Tool[]): readonly Tool[] {
    if (tools.filter(({ name }) => !isBundledTool(name)).length <= this.#threshold) return tools
    const found = this.#found.get(sessionId)
    return tools.filter(({ name }) => isBundledTool(name) || found?.has(name) === true)
  }

  forget(sessionId: string): void {
    this.#found.delete(sessionId)
  }
}
