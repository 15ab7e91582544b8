import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'

/** Words of the name count more than words of the description. */
const NAME_WEIGHT = 3

export interface SearchedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** The tools that match the words of a query, best first. */
export const findTools = <Tool extends SearchedTool>(query: string, tools: readonly Tool[]): readonly Tool[] =>
  rank(query, tools.map(documentOf))

function documentOf<Tool extends SearchedTool>(tool: Tool): Document<Tool> {
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
