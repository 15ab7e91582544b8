import { defineExtension, isLockedTool, type ManifestInput } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What the tool should do, in a few words.' },
    max_results: { type: 'integer', minimum: 1, maximum: 10, description: 'Maximum number of results. Default: 10.' },
  },
  required: ['query'],
  additionalProperties: false,
} as const

const MATCHES = 10
const DESCRIPTION_CHARS = 200
/** Words of the name count more than words of the description. */
const NAME_WEIGHT = 3

export interface SearchedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** The available tools. Found tools are reported, so that they can be offered to the model. */
export interface ToolCatalog {
  tools(): readonly SearchedTool[]
  found(sessionId: string, names: readonly string[]): void
}

const EMPTY: ToolCatalog = { tools: () => [], found: () => undefined }

const manifest = {
  ...BUNDLED,
  id: 'tool-search',
  tools: [{
    name: 'tool_search',
    label: 'Find tools',
    description: 'Finds more tools by what they do. You can call the tools it returns.',
    inputSchema: INPUT_SCHEMA,
    requires: { capabilities: ['session'] },
    gated: false,
    mode: 'read',
    kind: 'search',
    idempotent: true,
  }],
} satisfies ManifestInput

export const createToolSearch = (catalog: ToolCatalog = EMPTY): BundledExtension => ({
  manifest,
  module: defineExtension({
    tools: {
      tool_search: {
        input: INPUT_SCHEMA,
        requires: { capabilities: ['session'] },
        async execute({ query, max_results = MATCHES }, { session }) {
          const others = catalog.tools().filter(({ name }) => !isLockedTool(name))
          const best = rank(query, others.map(documentOf)).slice(0, max_results)
          catalog.found(await session.id(), best.map(({ name }) => name))
          return { matches: best.map(({ name, description }) => ({ id: name, description: shortened(description) })) }
        },
        deriveApprovalKey: () => 'tool-registry',
      },
    },
  }),
})

function documentOf(tool: SearchedTool): Document<SearchedTool> {
  const named = wordsOf(tool.name)
  const weighted = Array.from({ length: NAME_WEIGHT }, () => named).flat()
  return { subject: tool, words: [...weighted, ...wordsOf(tool.description), ...parameterWords(tool.inputSchema, 0)] }
}

/** Names and descriptions of parameters, a few levels deep. */
function parameterWords(schema: Json | undefined, depth: number): readonly string[] {
  if (!isJsonObject(schema) || depth > 3) return []
  const { properties, items } = schema
  const named = isJsonObject(properties) ? Object.entries(properties) : []
  return [
    ...named.flatMap(([name, value]) => [
      ...wordsOf(name),
      ...(isJsonObject(value) && typeof value['description'] === 'string' ? wordsOf(value['description']) : []),
      ...parameterWords(value, depth + 1),
    ]),
    ...parameterWords(items, depth + 1),
  ]
}

const shortened = (text: string): string =>
  text.length <= DESCRIPTION_CHARS ? text : `${text.slice(0, DESCRIPTION_CHARS - 1).toWellFormed()}…`

/** With more tools than this besides the locked ones, the model sees only the locked tools and those it has found. */
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
    if (tools.filter(({ name }) => !isLockedTool(name)).length <= this.#threshold) return tools
    const found = this.#found.get(sessionId)
    return tools.filter(({ name }) => isLockedTool(name) || found?.has(name) === true)
  }

  forget(sessionId: string): void {
    this.#found.delete(sessionId)
  }
}

/** The words of a document. Words with more weight are repeated. */
interface Document<Subject> {
  readonly subject: Subject
  readonly words: readonly string[]
}

const K1 = 1.2
const B = 0.75

/** Ranks documents with BM25, best first. Leaves out those without a word of the query. */
export function rank<Subject>(query: string, documents: readonly Document<Subject>[]): readonly Subject[] {
  const wanted = new Set(wordsOf(query))
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / Math.max(documents.length, 1)
  const counted = documents.map(({ subject, words }) => ({ subject, length: words.length, counts: countOf(words) }))
  const rarity = new Map(Array.from(wanted, (word) => {
    const having = counted.filter(({ counts }) => counts.has(word)).length
    return [word, Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))]
  }))
  return counted.map(({ subject, length, counts }) => ({
    subject,
    score: Array.from(wanted).reduce((sum, word) => {
      const count = counts.get(word) ?? 0
      return sum + rarity.get(word)! * count * (K1 + 1) / (count + K1 * (1 - B + B * length / average))
    }, 0),
  })).filter(({ score }) => score > 0).toSorted((one, other) => other.score - one.score).map(({ subject }) => subject)
}

/** The lower-case words of a string. Splits camel case and snake case, and removes a plural `s`. */
export function wordsOf(text: string): readonly string[] {
  const words = text.replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2').toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.map((word) => word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word)
}

function countOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
