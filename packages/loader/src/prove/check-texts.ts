import type { Manifest, ToolManifest } from '@bulkhead/contract'
import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { mapSubschemas, schemaKeywordForm, subschemaPointer } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import type { Shaped } from '../describe/extension.ts'
import { MAX_FAULTS, pass, type Fault, type StageResult } from '../model/result.ts'

/**
 * A model must see the same text as a person. Descriptions are normalized and invisible characters escaped. Names and
 * values with invisible characters are refused, because escaping would change their meaning. Texts that look like
 * instructions are reported.
 */
export function checkTexts(shaped: Shaped): StageResult<Shaped> {
  const faults: Fault[] = []
  const warnings: Fault[] = []
  const reader: TextReader = {
    words(text, path) {
      const plain = plainText(text)
      if (plain !== text.normalize('NFC')) {
        warnings.push(suspicious(path, 'has invisible characters; they are shown escaped'))
      }
      warnings.push(...findHiddenInstructions(plain).map((what) => suspicious(path, what)))
      return plain
    },
    hidden: (path) => void faults.push({
      stage: 'shape', code: 'ShapeInvalid', path, message: `${visibleText(path)} has invisible characters.`,
      cure: 'Use only visible characters in names and values.',
    }),
  }
  const manifest = visibleManifest(shaped.manifest, reader)
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MAX_FAULTS) }
  return pass({ ...shaped, manifest: deepFreeze(manifest) }, warnings.slice(0, MAX_FAULTS))
}

function visibleManifest(manifest: Manifest, reader: TextReader): Manifest {
  const { title, description, stateSlot } = manifest
  const schema = (value: JsonObject, path: string) => visibleSchema(value, path, reader)
  return {
    ...manifest,
    ...(title !== undefined && { title: reader.words(title, '/title') }),
    ...(description !== undefined && { description: reader.words(description, '/description') }),
    configSchema: schema(manifest.configSchema, '/configSchema'),
    ...(stateSlot !== null && { stateSlot: { ...stateSlot, schema: schema(stateSlot.schema, '/stateSlot/schema') } }),
    tools: manifest.tools.map((tool, index) => visibleTool(tool, `/tools/${index}`, reader)),
  }
}

function visibleTool(tool: ToolManifest, path: string, reader: TextReader): ToolManifest {
  const { label, outputSchema } = tool
  return {
    ...tool,
    ...(label !== undefined && { label: reader.words(label, `${path}/label`) }),
    description: reader.words(tool.description, `${path}/description`),
    inputSchema: visibleSchema(tool.inputSchema, `${path}/inputSchema`, reader),
    ...(outputSchema !== undefined && { outputSchema: visibleSchema(outputSchema, `${path}/outputSchema`, reader) }),
  }
}

const suspicious = (path: string, what: string): Fault => ({
  stage: 'shape', code: 'TextSuspicious', path, message: `The text at ${visibleText(path)} ${what}.`,
})

/** Patterns that ordinary descriptions do not contain, matched against the text that a model sees. */
const SIGNS: readonly (readonly [pattern: RegExp, what: string])[] = [
  [
    /<\s*(?:\/\s*)?(?:important|system|instructions?|secret|hidden|assistant|admin)\b[^>]{0,500}>/i,
    'marks a part of it as an instruction to the model',
  ],
  [/\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|system)\b.{0,40}\b(?:instructions?|prompts?|rules|messages|guidelines)\b/is,
    'tells the model to ignore other instructions'],
  [/\b(?:do not|don't|never)\b.{0,30}\b(?:tell|mention|inform|reveal|show|notify|alert)\b.{0,40}\b(?:user|person|human|operator|anyone)\b/is,
    'tells the model to hide something from people'],
  [/\b(?:before|after|whenever|each time|every time)\b.{0,40}\b(?:use|using|call|calling|run|running)\b.{0,40}\b(?:any|another|other|every|all)\b.{0,20}\btools?\b/is,
    'tells the model how to use other tools'],
  [/\b(?:system|developer) prompt\b/i, 'mentions the system prompt'],
  [/<!--/, 'has a comment, which many viewers hide'],
  [/!\[[^\]]{0,200}\]\(\s*https?:/i, 'has a remote image, which sends a request when it is shown'],
  [/data:[a-z]+\/[a-z0-9.+-]+;base64,/i, 'has a data URL'],
  [/[A-Za-z0-9+/]{160}/, 'has a long run of encoded characters'],
  [/(?:[^\S\n]*\n){8}|[^\S\n]{40}/, 'has so much white space that the rest is out of view'],
]

/**
 * Why a text looks like hidden instructions to a model. Each reason continues a sentence that starts with the name of
 * the text.
 */
const findHiddenInstructions = (text: string): readonly string[] =>
  SIGNS.filter(([pattern]) => pattern.test(text)).map(([, what]) => what)

/** Untrusted text as models and people see it: normalized, with invisible characters escaped. */
const plainText = (text: string): string => visibleText(text.normalize('NFC'), { keepLines: true })

/** For names and values, which escaping would change. */
const isPlain = (text: string): boolean => visibleText(text, { keepLines: true }) === text

/** Keywords that hold descriptions. Other strings in a schema are data. */
const WORDS: ReadonlySet<string> = new Set(['title', 'description', '$comment'])

export interface TextReader {
  /** Called for each description; returns its replacement. */
  words(text: string, path: string): string
  /** Called for each name or value with invisible characters. */
  hidden(path: string): void
}

/** The schema with its descriptions replaced by the reader. Returns the same object if nothing changes. */
function visibleSchema(schema: JsonObject, path: string, reader: TextReader): JsonObject {
  const entries = Object.entries(schema).map(([keyword, value]) => {
    const at = path + pointerStep(keyword)
    if (!isPlain(keyword)) reader.hidden(at)
    if (WORDS.has(keyword) && typeof value === 'string') return [keyword, reader.words(value, at)] as const
    if ((schemaKeywordForm(keyword, 'any') ?? 'plain') === 'plain') readData(value, at, reader)
    return [keyword, value] as const
  })
  const isSame = entries.every(([keyword, value]) => value === schema[keyword])
  return mapSubschemas(isSame ? schema : Object.fromEntries(entries), (below) => {
    const at = path + subschemaPointer(below)
    if (typeof below.key === 'string' && !isPlain(below.key)) reader.hidden(at)
    if (isJsonObject(below.schema)) return visibleSchema(below.schema, at, reader)
    readData(below.schema, at, reader)
    return below.schema
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
