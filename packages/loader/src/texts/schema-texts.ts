import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { schemaKeywordForm } from '@bulkhead/kit/schema'
import { isPlain } from './plain-text.ts'

/** Words about a schema. Whatever else is a text there is data, and means what it is. */
const WORDS: ReadonlySet<string> = new Set(['title', 'description', '$comment'])

export interface TextReader {
  /** Called with each text that is words; what it returns takes its place. */
  words(text: string, path: string): string
  /** Called for each name or value that has characters nobody sees. */
  hidden(path: string): void
}

/** A schema with its words as the reader wants them. Returns the very schema where nothing changes. */
export function readSchemaTexts(schema: JsonObject, path: string, reader: TextReader): JsonObject {
  return rewrite(schema, (value, keyword) => {
    const at = path + pointerStep(keyword)
    if (!isPlain(keyword)) reader.hidden(at)
    if (WORDS.has(keyword) && typeof value === 'string') return reader.words(value, at)
    const below = (child: Json, step: string | number): Json =>
      isJsonObject(child) ? readSchemaTexts(child, at + pointerStep(step), reader) : child
    // In draft-07 a list of schemas may stand below `items`.
    switch (schemaKeywordForm(keyword) ?? schemaKeywordForm(keyword, 'draft-07')) {
      case 'subschema':
        if (Array.isArray(value)) return rewriteList(value, below)
        return isJsonObject(value) ? readSchemaTexts(value, at, reader) : value
      case 'list':
        return Array.isArray(value) ? rewriteList(value, below) : value
      case 'map':
        if (!isJsonObject(value)) return value
        for (const name of Object.keys(value)) if (!isPlain(name)) reader.hidden(at + pointerStep(name))
        return rewrite(value, below)
      default:
        readData(value, at, reader)
        return value
    }
  })
}

function readData(value: Json, path: string, reader: TextReader): void {
  if (typeof value === 'string' && !isPlain(value)) reader.hidden(path)
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    if (!isPlain(key)) reader.hidden(path + pointerStep(key))
    readData(child as Json, path + pointerStep(key), reader)
  }
}

function rewrite(object: JsonObject, member: (value: Json, key: string) => Json): JsonObject {
  const entries = Object.entries(object).map(([key, value]) => [key, member(value, key)] as const)
  return entries.every(([key, value]) => value === object[key]) ? object : Object.fromEntries(entries)
}

function rewriteList(list: readonly Json[], member: (value: Json, index: number) => Json): readonly Json[] {
  const members = list.map(member)
  return members.every((value, index) => value === list[index]) ? list : members
}
