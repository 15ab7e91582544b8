import { HEADER_NAME_PATTERN, MANIFEST_LIMITS } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sha512 } from '../../../connected/entries.ts'
import { RememberedFiles } from '../../../connected/file-cache.ts'
import { withSubschemas } from '../../../connected/tool-schema.ts'

/** One tool as its server describes it, word for word. */
export interface CatalogTool {
  readonly name: string
  readonly definition: JsonObject
  /** Lower-case hex sha512 over the definition. */
  readonly digest: string
}

/** The parts of a tool list that are used. */
export interface Catalog {
  /** What the server says its version is. */
  readonly version: string
  readonly tools: readonly CatalogTool[]
  /** What is left out, one line each. */
  readonly faults: readonly string[]
}

/** The parts of a definition that a model or policy may see. Icons and `_meta` are not among them. */
const FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'execution'] as const
const NAME_CHARS = 128
const DEFINITION = { maxDepth: 48, maxNodes: 20_000, maxChars: 256 * 1024 }

/**
 * Reads what a server has listed. Contract: never throws; whatever is not of the form is left out, and with `sendsHeaders` also
 * what wants parameters sent as headers that cannot be.
 */
export function readCatalog(version: string, listed: readonly unknown[], sendsHeaders = false): Catalog {
  const faults: string[] = []
  const tools = new Map<string, CatalogTool>()
  for (const [index, one] of listed.entries()) {
    const fault = findJsonFault(one, DEFINITION)
    const name = isNamed(one) ? one.name : undefined
    const isRead = name !== undefined && fault === undefined
    const header = isRead && sendsHeaders ? headerFault((one as JsonObject)['inputSchema']) : undefined
    if (name === undefined) faults.push(`entry ${index} of its list has no name of 1 to ${NAME_CHARS} characters`)
    else if (fault !== undefined) faults.push(`the definition of "${name}" ${fault.message}`)
    else if (tools.has(name)) faults.push(`"${name}" is listed twice; the first counts`)
    else if (header !== undefined) faults.push(`"${name}" ${header}`)
    else if (needsTask(one as JsonObject)) faults.push(`"${name}" runs as a task only, and tasks are not supported here`)
    else if (tools.size >= MANIFEST_LIMITS.tools) faults.push(`"${name}" is one more than ${MANIFEST_LIMITS.tools} tools`)
    else tools.set(name, catalogTool(one as JsonObject, name))
  }
  return { version, tools: [...tools.values()], faults: faults.slice(0, MAX_FAULTS) }
}

const needsTask = ({ execution }: JsonObject): boolean => isJsonObject(execution) && execution['taskSupport'] === 'required'

/** As many as tools that may be offered. */
const MAX_FAULTS = MANIFEST_LIMITS.tools

/** Over everything that is offered: another one is another version. */
export const catalogDigest = ({ tools }: Catalog): string => sha512(tools.map(({ digest }) => digest).toSorted().join('\n'))

function catalogTool(listed: JsonObject, name: string): CatalogTool {
  const said = FIELDS.filter((field) => Object.hasOwn(listed, field))
  const definition = Object.fromEntries(said.map((field): [string, Json] => [field, listed[field]!]))
  return { name, definition, digest: sha512(canonicalJson(definition)) }
}

const isNamed = (value: unknown): value is { readonly name: string } =>
  isJsonObject(value as Json) && typeof (value as JsonObject)['name'] === 'string'
  && (value as { name: string }).name.length > 0 && (value as { name: string }).name.length <= NAME_CHARS

/** What servers offered when they were last asked, so that their tools are known without starting them. Contract: never throws. */
export class CatalogFiles {
  readonly #files: RememberedFiles

  constructor(folder: string | undefined) {
    this.#files = new RememberedFiles(folder)
  }

  read(identity: string): Catalog | undefined {
    const { version, tools } = this.#files.read(identity) ?? {}
    return typeof version === 'string' && Array.isArray(tools) ? readCatalog(version, tools) : undefined
  }

  write(identity: string, { version, tools }: Catalog): void {
    this.#files.write(identity, { version, tools: tools.map(({ definition }) => definition) })
  }
}

const KEYWORD = 'x-mcp-header'
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/**
 * Checks the parameters that a tool wants to receive as headers too. The protocol requires HTTP clients to drop an invalid tool,
 * because proxies read those headers. The depth of the schema must be bounded.
 */
export function headerFault(inputSchema: Json | undefined): string | undefined {
  const names = new Set<string>()
  const faults: string[] = []
  /** `isParameter`: the value is found by names of properties alone. */
  const visit = (schema: JsonObject, isParameter: boolean): void => {
    const fault = Object.hasOwn(schema, KEYWORD) ? declarationFault(schema, isParameter, names) : undefined
    if (fault !== undefined) faults.push(fault)
    const { properties, ...rest } = schema
    const isReached = isParameter || schema === inputSchema
    for (const one of isJsonObject(properties) ? Object.values(properties) : []) if (isJsonObject(one)) visit(one, isReached)
    withSubschemas(rest, (below) => {
      visit(below, false)
      return below
    })
  }
  if (isJsonObject(inputSchema)) visit(inputSchema, false)
  return faults[0]
}

function declarationFault({ [KEYWORD]: name, type }: JsonObject, isParameter: boolean, names: Set<string>): string | undefined {
  if (!isParameter) return 'wants something sent as a header that is not one of its parameters'
  if (typeof name !== 'string' || !HEADER_NAME_PATTERN.test(name)) return 'wants a parameter sent as a header whose name is none'
  if (!TYPES.has(type)) return `wants a parameter sent as the header "${name}" that is no string, integer or boolean`
  if (names.has(name.toLowerCase())) return `wants two parameters sent as the header "${name}"`
  names.add(name.toLowerCase())
  return undefined
}
