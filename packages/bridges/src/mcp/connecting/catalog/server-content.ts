import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { cut, sha512, textOf } from '../../../connected/entries.ts'

/** A resource of a server, or a template for the URIs of resources. All texts are untrusted. */
export interface McpResource {
  readonly uri: string
  readonly isTemplate?: true
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

/** A prompt of a server. All texts are untrusted. */
export interface McpPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required: boolean }[]
}

/** The resources and prompts of a server. undefined: it has none and announces none. */
export interface ServerContent {
  readonly resources?: readonly McpResource[] | undefined
  readonly prompts?: readonly McpPrompt[] | undefined
}

/** The lists of a server, unchecked. */
export interface ListedContent {
  readonly resources?: readonly unknown[] | undefined
  readonly templates?: readonly unknown[] | undefined
  readonly prompts?: readonly unknown[] | undefined
}

export const MAX_ITEMS = 1_000
const NAME_CHARS = 128
const URI_CHARS = 2_048
const TEXT_CHARS = 1_024
const MAX_ARGUMENTS = 64

/** Reads the lists. Never throws: invalid items are left out. */
export function readContent({ resources, templates = [], prompts }: ListedContent): ServerContent {
  const found = resources && [
    ...resources.map((one) => resourceOf(one, 'uri')), ...templates.map((one) => resourceOf(one, 'uriTemplate')),
  ]
  return {
    ...(found && { resources: unique(found, ({ uri }) => uri) }),
    ...(prompts && { prompts: unique(prompts.map(promptOf), ({ name }) => name) }),
  }
}

function unique<Item>(items: readonly (Item | undefined)[], keyOf: (item: Item) => string): readonly Item[] {
  const byKey = new Map<string, Item>()
  for (const item of items) if (item && !byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()].slice(0, MAX_ITEMS)
}

function resourceOf(value: unknown, key: 'uri' | 'uriTemplate'): McpResource | undefined {
  if (!isJsonObject(value as Json)) return undefined
  const { [key]: uri, name, mimeType, ...texts } = value as JsonObject
  if (!isName(uri, URI_CHARS) || !isName(name, NAME_CHARS)) return undefined
  return {
    uri, name, ...(key === 'uriTemplate' && { isTemplate: true }), ...textsOf(texts),
    ...(isName(mimeType, NAME_CHARS) && { mimeType }),
  }
}

function promptOf(value: unknown): McpPrompt | undefined {
  if (!isJsonObject(value as Json)) return undefined
  const { name, arguments: given = [], ...texts } = value as JsonObject
  if (!isName(name, NAME_CHARS)) return undefined
  const listed = Array.isArray(given) ? given.slice(0, MAX_ARGUMENTS).filter(isJsonObject) : []
  const named = listed.flatMap(({ name: argument, description, required }) => isName(argument, NAME_CHARS)
    ? [{ name: argument, ...textsOf({ description: description ?? null }), required: required === true }]
    : [])
  return { name, ...textsOf(texts), arguments: named }
}

/** Invisible characters could hide what a URI or a name is. */
const isName = (value: Json | undefined, most: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= most && visibleText(value) === value

function textsOf({ title, description }: JsonObject): { readonly title?: string; readonly description?: string } {
  const texts = Object.entries({ title: textOf(title), description: textOf(description) })
  return Object.fromEntries(texts.flatMap(([key, text]) =>
    text === undefined ? [] : [[key, cut(visibleText(text), TEXT_CHARS)]]))
}

/** What a tool for content gives access to. */
export type Access = 'resources' | 'prompts'

/** A tool that the host adds for a server. Its text is ours, so that a server cannot write to a model with it. */
export interface AccessTool {
  readonly name: string
  readonly definition: JsonObject
  readonly digest: string
  readonly access: Access
}

export function accessTools({ resources, prompts }: ServerContent, server: string): readonly AccessTool[] {
  const reading = `Read a resource of the MCP server ${server} by its URI. Without a URI, list its resources.`
  const getting = `Get a prompt of the MCP server ${server} by its name. Without a name, list its prompts.`
  return [
    ...resources ? [accessTool('resources', 'read_resource', reading, { uri: RESOURCE_URI })] : [],
    ...prompts ? [accessTool('prompts', 'get_prompt', getting, { name: PROMPT_NAME, arguments: PROMPT_ARGUMENTS })] : [],
  ]
}

const RESOURCE_URI: JsonObject = { type: 'string', maxLength: URI_CHARS, description: 'URI of the resource.' }
const PROMPT_NAME: JsonObject = { type: 'string', maxLength: NAME_CHARS, description: 'Name of the prompt.' }
const PROMPT_ARGUMENTS: JsonObject = {
  type: 'object', additionalProperties: { type: 'string' }, maxProperties: MAX_ARGUMENTS,
  description: 'Arguments of the prompt.',
}

function accessTool(access: Access, name: string, description: string, properties: JsonObject): AccessTool {
  const inputSchema = { type: 'object', properties, additionalProperties: false }
  const definition: JsonObject = { name, description, inputSchema }
  return { name, definition, digest: sha512(canonicalJson(definition)), access }
}

/** The list that a tool for content gives without a name. undefined if one item is wanted. */
export function listOf(content: ServerContent, access: Access, { uri, name }: JsonObject): JsonObject | undefined {
  if ((access === 'resources' ? uri : name) !== undefined) return undefined
  const items = (content[access] ?? []) as unknown as Json
  return { content: [{ type: 'text', text: JSON.stringify(items) }], structuredContent: { [access]: items } }
}
