import type { Manifest, ToolManifest } from '@bulkhead/contract'
import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { schemaKeywordForm } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import type { Shaped } from '../describe/extension.ts'
import { deepFreeze } from '../model/plain-data.ts'
import { MAX_FAULTS, pass, type Fault, type StageResult } from '../model/result.ts'

/**
 * What a model will be told is what a person is shown. Words are composed and made visible; names and values that cannot be
 * seen are refused, since they would mean something else if they were written out. What reads like orders to a model is reported.
 */
export function texts(shaped: Shaped): StageResult<Shaped> {
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const reader: TextReader = {
    words(text, path) {
      const plain = plainText(text)
      if (plain !== text.normalize('NFC')) warnings.push(suspicious(path, 'has characters that cannot be seen; they are written out'))
      warnings.push(...findHiddenInstructions(plain).map((what) => suspicious(path, what)))
      return plain
    },
    hidden: (path) => void faults.push({
      stage: 'shape', code: 'ShapeInvalid', path, message: `${visibleText(path)} has characters that cannot be seen.`,
      cure: 'Write the name or value with characters that can be seen.',
    }),
  }
  const manifest = readManifest(shaped.manifest, reader)
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MAX_FAULTS) }
  return pass({ ...shaped, manifest: deepFreeze(manifest) }, warnings.slice(0, MAX_FAULTS))
}

function readManifest(manifest: Manifest, reader: TextReader): Manifest {
  const { title, description, stateSlot } = manifest
  const schema = (value: JsonObject, path: string) => readSchemaTexts(value, path, reader)
  return {
    ...manifest,
    ...(title !== undefined && { title: reader.words(title, '/title') }),
    ...(description !== undefined && { description: reader.words(description, '/description') }),
    configSchema: schema(manifest.configSchema, '/configSchema'),
    ...(stateSlot !== null && { stateSlot: { ...stateSlot, schema: schema(stateSlot.schema, '/stateSlot/schema') } }),
    tools: manifest.tools.map((tool, index) => readTool(tool, `/tools/${index}`, reader)),
  }
}

function readTool(tool: ToolManifest, path: string, reader: TextReader): ToolManifest {
  const { label, outputSchema } = tool
  return {
    ...tool,
    ...(label !== undefined && { label: reader.words(label, `${path}/label`) }),
    description: reader.words(tool.description, `${path}/description`),
    inputSchema: readSchemaTexts(tool.inputSchema, `${path}/inputSchema`, reader),
    ...(outputSchema !== undefined && { outputSchema: readSchemaTexts(outputSchema, `${path}/outputSchema`, reader) }),
  }
}

const suspicious = (path: string, what: string): Fault => ({
  stage: 'shape', code: 'TextSuspicious', path, message: `The text at ${visibleText(path)} ${what}.`,
})

/** What honest descriptions do not have, by what it does there. Matched against what a model would be told. */
const SIGNS: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/<\s*(?:\/\s*)?(?:important|system|instructions?|secret|hidden|assistant|admin)\b[^>]{0,500}>/i, 'marks a part of it as an order to the model'],
  [/\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|system)\b.{0,40}\b(?:instructions?|prompts?|rules|messages|guidelines)\b/is,
    'tells the model to disregard what others told it'],
  [/\b(?:do not|don't|never)\b.{0,30}\b(?:tell|mention|inform|reveal|show|notify|alert)\b.{0,40}\b(?:user|person|human|operator|anyone)\b/is,
    'tells the model to keep something from people'],
  [/\b(?:before|after|whenever|each time|every time)\b.{0,40}\b(?:use|using|call|calling|run|running)\b.{0,40}\b(?:any|another|other|every|all)\b.{0,20}\btools?\b/is,
    'tells the model how to use other tools'],
  [/\b(?:system|developer) prompt\b/i, 'speaks of the system prompt'],
  [/<!--/, 'has a comment, which many views do not show'],
  [/!\[[^\]]{0,200}\]\(\s*https?:/i, 'has a picture from the network, which sends something when it is shown'],
  [/data:[a-z]+\/[a-z0-9.+-]+;base64,/i, 'has data written as an address'],
  [/(?:[A-Za-z0-9+/]{4}){40}/, 'has a long run of characters that nobody can read'],
  [/(?:[^\S\n]*\n){8}|[^\S\n]{40}/, 'has so much empty space that what follows is out of sight'],
]

/** What in a text looks like words to a model that a person should not notice; goes on after the name of the text. */
export const findHiddenInstructions = (text: string): readonly string[] =>
  SIGNS.filter(([pattern]) => pattern.test(text)).map(([, what]) => what)

/** A stranger's text as models and people are both shown it: composed, and what cannot be seen written out. */
export const plainText = (text: string): string => visibleText(text.normalize('NFC'), { keepLines: true })

/** For what means something exactly as it is, such as a value or a name, and cannot be written otherwise. */
export const isPlain = (text: string): boolean => visibleText(text, { keepLines: true }) === text

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
