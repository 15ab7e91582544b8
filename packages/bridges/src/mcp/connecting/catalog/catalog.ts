import { HEADER_NAME_PATTERN, MANIFEST_LIMITS } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { subschemasOf } from '@bulkhead/kit/schema'
import { sha512 } from '../../../connected/entries.ts'
import { FileCache } from '../../../connected/file-cache.ts'
import { type Access, type ServerContent, type ListedContent, readContent } from './server-content.ts'

/** A tool with the definition that its server sent. */
export interface CatalogTool {
  readonly name: string
  readonly definition: JsonObject
  /** Lower-case hex sha512 of the definition. */
  readonly digest: string
  /** Set for a tool that the host adds. */
  readonly access?: Access
}

/** The parts of a tool list that are used. */
export interface Catalog {
  /** The version that the server declares. */
  readonly version: string
  readonly tools: readonly CatalogTool[]
  readonly content: ServerContent
  /** Tools that cannot be used, one line each. */
  readonly faults: readonly string[]
}

/** The parts of a definition that a model or policy may see. Icons and `_meta` are not among them. */
const FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'execution'] as const
const NAME_CHARS = 128
const DEFINITION = { maxDepth: 48, maxNodes: 20_000, maxChars: 256 * 1024 }

/**
 * Reads a list of tools. Never throws: invalid tools are left out. With `sendsHeaders`, so are tools whose header
 * parameters are invalid.
 */
export function readCatalog(
  version: string, listed: readonly unknown[], sendsHeaders = false, content: ListedContent = {},
): Catalog {
  const faults: string[] = []
  const tools = new Map<string, CatalogTool>()
  for (const [index, one] of listed.entries()) {
    const fault = findJsonFault(one, DEFINITION)
    const name = isNamed(one) ? one.name : undefined
    const isRead = name !== undefined && fault === undefined
    const header = isRead && sendsHeaders ? headerFault((one as JsonObject)['inputSchema']) : undefined
    if (name === undefined) faults.push(`entry ${index} of its list has no name with 1 to ${NAME_CHARS} characters`)
    else if (fault !== undefined) faults.push(`the definition of "${name}" ${fault.message}`)
    else if (tools.has(name)) faults.push(`"${name}" is listed twice; the first one is used`)
    else if (header !== undefined) faults.push(`"${name}" ${header}`)
    else if (needsTask(one as JsonObject)) faults.push(`"${name}" runs only as a task, and tasks are not supported`)
    else if (tools.size >= MAX_TOOLS) faults.push(`"${name}" exceeds the limit of ${MAX_TOOLS} tools`)
    else tools.set(name, catalogTool(one as JsonObject, name))
  }
  return { version, tools: [...tools.values()], content: readContent(content), faults: faults.slice(0, MAX_FAULTS) }
}

const needsTask = ({ execution }: JsonObject): boolean =>
  isJsonObject(execution) && execution['taskSupport'] === 'required'

const MAX_TOOLS = MANIFEST_LIMITS.tools
const MAX_FAULTS = MAX_TOOLS

/** Changes if any tool changes. Resources and prompts are read through one tool each. */
export const catalogDigest = ({ tools, content: { resources, prompts } }: Catalog): string => sha512([
  ...tools.map(({ digest }) => digest).toSorted(), ...resources ? ['resources'] : [], ...prompts ? ['prompts'] : [],
].join('\n'))

function catalogTool(listed: JsonObject, name: string): CatalogTool {
  const present = FIELDS.filter((field) => Object.hasOwn(listed, field))
  const definition = Object.fromEntries(present.map((field): [string, Json] => [field, listed[field]!]))
  return { name, definition, digest: sha512(canonicalJson(definition)) }
}

const isNamed = (value: unknown): value is { readonly name: string } =>
  isJsonObject(value as Json) && typeof (value as JsonObject)['name'] === 'string'
  && (value as { name: string }).name.length > 0 && (value as { name: string }).name.length <= NAME_CHARS

/** Caches lists of tools, so that tools are known before a server is started. Never throws. */
export class CatalogFiles {
  readonly #files: FileCache

  constructor(folder: string | undefined) {
    this.#files = new FileCache(folder)
  }

  read(identity: string): Catalog | undefined {
    const { version, tools, resources, templates, prompts } = this.#files.read(identity) ?? {}
    if (typeof version !== 'string' || !Array.isArray(tools)) return undefined
    const listOf = (value: Json | undefined) => Array.isArray(value) ? value : undefined
    const content = { resources: listOf(resources), templates: listOf(templates), prompts: listOf(prompts) }
    return readCatalog(version, tools, false, content)
  }

  write(identity: string, { version, tools, content: { resources, prompts } }: Catalog): void {
    this.#files.write(identity, {
      version, tools: tools.map(({ definition }) => definition),
      ...(resources && {
        resources: resources.filter(({ isTemplate }) => !isTemplate),
        templates: resources.filter(({ isTemplate }) => isTemplate).map(({ uri, ...rest }) => ({ ...rest, uriTemplate: uri })),
      }),
      ...(prompts && { prompts }),
    })
  }
}

const KEYWORD = 'x-mcp-header'
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/**
 * Checks the parameters that a tool wants to receive as headers too. The protocol requires HTTP clients to drop an
 * invalid tool, because proxies read those headers. The depth of the schema must be bounded.
 */
export function headerFault(inputSchema: Json | undefined): string | undefined {
  const names = new Set<string>()
  const faults: string[] = []
  /** `isParameter`: the schema is reached through `properties` only. */
  const visit = (schema: JsonObject, isParameter: boolean): void => {
    const fault = Object.hasOwn(schema, KEYWORD) ? declarationFault(schema, isParameter, names) : undefined
    if (fault !== undefined) faults.push(fault)
    const isReached = isParameter || schema === inputSchema
    for (const { keyword, schema: below } of subschemasOf(schema)) {
      if (isJsonObject(below)) visit(below, isReached && keyword === 'properties')
    }
  }
  if (isJsonObject(inputSchema)) visit(inputSchema, false)
  return faults[0]
}

function declarationFault(
  { [KEYWORD]: name, type }: JsonObject, isParameter: boolean, names: Set<string>,
): string | undefined {
  if (!isParameter) return 'declares a header for a value that is not a parameter'
  if (typeof name !== 'string' || !HEADER_NAME_PATTERN.test(name)) return 'declares a header with an invalid name'
  if (!TYPES.has(type)) return `declares the header "${name}" for a parameter that is not a string, integer or boolean`
  if (names.has(name.toLowerCase())) return `declares the header "${name}" for two parameters`
  names.add(name.toLowerCase())
  return undefined
}
