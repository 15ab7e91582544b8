import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { canonicalJson, findJsonFault, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { sha512 } from '../../../connected/digest.ts'
import { headerFault } from './header-parameters.ts'

/** One tool as its server describes it, word for word. */
export interface CatalogTool {
  readonly name: string
  readonly definition: JsonObject
  /** Lower-case hex sha512 over the definition. */
  readonly digest: string
}

/** What a server offers, as far as it is looked at. */
export interface Catalog {
  /** What the server says its version is. */
  readonly version: string
  readonly tools: readonly CatalogTool[]
  /** What is left out, one line each. */
  readonly faults: readonly string[]
}

/** What of a definition is told to a model or a policy, or could be one day. Icons and `_meta` are not. */
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
