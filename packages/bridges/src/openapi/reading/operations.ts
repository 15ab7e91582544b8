import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { readSchema } from '@bulkhead/kit/schema'
import { visibleText } from '@bulkhead/kit/text'
import { cut, textOf } from '../../connected/entries.ts'
import {
  type DescribedApi, type DescribedOperation, resolveReference, Unusable, type Wanted,
} from './api-description.ts'
import { ArgumentSchemas, type SchemaDetail, TooManySchemas } from './argument-schemas.ts'
import { readParameters } from './arguments.ts'
import { readBody } from './bodies.ts'
import { readSchemes, readSecurity } from './security.ts'

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'] as const
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
const VERSION = /^3\.([01])\.\d+(?:-.*)?$/
const MOST_OPERATIONS = MANIFEST_LIMITS.connectedTools
const MOST_FAULTS = 2 * MOST_OPERATIONS
const ID_CHARS = 128
/** The names of the operations over the limit. */
const NAMES_CHARS = 64 * 1024

/** Throws Unusable for an invalid document. Unusable operations are left out. */
export function readOperations(document: Json, wanted: Wanted): DescribedApi {
  if (!isJsonObject(document)) throw new Unusable('is not an object')
  const { openapi, info, paths, servers } = document
  const [, minor] = VERSION.exec(typeof openapi === 'string' ? openapi : '') ?? []
  if (minor === undefined) throw new Unusable('has an unsupported version; use OpenAPI 3.0 or 3.1')
  const faults: string[] = []
  const all = [...operationsOf(document, paths, faults)]
  const chosen = all.filter((found) => isWanted(found, wanted))
  const byId = Map.groupBy(chosen, ({ id }) => id)
  const missing = (wanted.operations ?? []).filter((id) => !byId.has(id))
  faults.push(...missing.map((id) => `there is no operation "${visibleText(id)}"`))
  const groups = [...byId.values()]
  const over = groups.splice(MOST_OPERATIONS).map(([found]) => found!.id)
  if (over.length > 0) {
    const names = cut(over.map((id) => `"${visibleText(id)}"`).join(', '), NAMES_CHARS)
    faults.push(`there are ${over.length} operations over the limit of ${MOST_OPERATIONS}; select some in the `
      + `configuration. Left out: ${names}`)
  }
  const repaired: string[] = []
  const shortened: string[] = []
  const operations = groups.map((group) => namedFirst(group, faults)).flatMap(([found, ...others]) => attempt(faults, whereOf(found!), () => {
    if (others.length > 0) {
      throw new Unusable(`has the same operationId as ${others.slice(0, 3).map(whereOf).join(' and ')}`)
    }
    return describe(document, found!, { isOld: minor === '0', hasBaseUrl: wanted.hasBaseUrl, repaired, shortened })
  }) ?? [])
  return {
    version: isJsonObject(info) && typeof info['version'] === 'string' ? info['version'].slice(0, 64) : '',
    server: firstServer(servers), operations, schemes: readSchemes(document), faults: faults.slice(0, MOST_FAULTS),
    mended: repaired.slice(0, MOST_FAULTS), shortened,
  }
}

interface Found {
  readonly id: string
  /** The document gives the id. */
  readonly isNamed: boolean
  readonly method: string
  readonly path: string
  readonly item: JsonObject
  readonly operation: JsonObject
}

const whereOf = ({ id, method, path }: Found): string =>
  `"${visibleText(id)}" (${method} ${visibleText(path).slice(0, 200)})`

function* operationsOf(
  root: JsonObject, paths: Json | undefined, faults: string[],
): Generator<Found> {
  for (const [path, written] of Object.entries(isJsonObject(paths) ? paths : {})) {
    if (path.startsWith('x-')) continue
    const item = attempt(faults, `the path "${visibleText(path).slice(0, 200)}"`, () => resolveReference(root, written))
    if (item === null) continue
    for (const name of METHODS) {
      const own = Object.hasOwn(item, name) ? item[name] : undefined
      if (!isJsonObject(own)) continue
      const where = `${name.toUpperCase()} ${visibleText(path).slice(0, 200)}`
      // Documents of several files refer to whole operations.
      const operation = attempt(faults, where, () => resolveReference(root, own))
      if (operation === null) continue
      const { operationId } = operation
      const isNamed = typeof operationId === 'string' && operationId !== '' && operationId.length <= ID_CHARS
      const id = isNamed ? operationId : madeId(name, path)
      yield { id, isNamed, method: name.toUpperCase(), path, item, operation }
    }
  }
}

/**
 * The id of an operation without one, such as `get_users_by_id` for GET /users/{id}. It depends on nothing else, so it
 * stays when the document changes.
 */
const madeId = (method: string, path: string): string => [
  method, ...path.split('/').filter((part) => part !== '').map((part) =>
    part.replaceAll(/\{([^{}]*)\}/g, 'by_$1').replaceAll(/[^A-Za-z0-9_]+/g, '_').replaceAll(/^_+|_+$/g, '')),
].join('_')

/** An id that is made does not cost the operation that the document gives the same. */
function namedFirst(group: readonly Found[], faults: string[]): readonly Found[] {
  const named = group.filter(({ isNamed }) => isNamed)
  if (named.length === 0) return group
  faults.push(...group.filter(({ isNamed }) => !isNamed)
    .map((found) => `${whereOf(found)} has no operationId, and another operation has that name`))
  return named
}

/** An operation must match all filters. */
function isWanted({ id, method, path, operation: { tags } }: Found, wanted: Wanted): boolean {
  const tagged: ReadonlySet<Json> = new Set(Array.isArray(tags) ? tags : [])
  return (wanted.operations?.includes(id) ?? true)
    && (wanted.tags?.some((tag) => tagged.has(tag)) ?? true)
    && (wanted.paths?.some((prefix) => isBelow(path, prefix)) ?? true)
    && (wanted.methods?.includes(method.toLowerCase()) ?? true)
}

const isBelow = (path: string, prefix: string): boolean =>
  path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)

interface Reading extends Pick<Wanted, 'hasBaseUrl'> {
  /** OpenAPI 3.0. */
  readonly isOld: boolean
  /** Receives what was converted. */
  readonly repaired: string[]
  /** Receives what was cut. */
  readonly shortened: string[]
}

const { subschemas } = MANIFEST_LIMITS
const WHOLE: SchemaDetail = { levels: Infinity, descriptionChars: Infinity, mostSchemas: subschemas }
/** Tried in turn until the schemas of an operation are within the limits of a manifest. */
const DETAILS: readonly SchemaDetail[] = [
  WHOLE, ...[Infinity, 12, 8, 6, 5, 4, 3, 2, 1, 0].map((levels) =>
    ({ levels, descriptionChars: 160, mostSchemas: subschemas })),
]

/** The operation in as much detail as fits. */
function describe(root: JsonObject, found: Found, reading: Reading): DescribedOperation {
  for (const detail of DETAILS) {
    const { schemas, operation } = attemptDetail(() => describeIn(root, found, reading, detail)) ?? {}
    if (schemas === undefined || operation === undefined) continue
    const { inputSchema } = operation
    // An invalid schema is not cut: the check of the manifest reports its fault.
    const isDone = readSchema(inputSchema, { limits: MANIFEST_LIMITS }).ok || !readSchema(inputSchema).ok
    if (!isDone) continue
    if (schemas.repaired.size > 0) reading.repaired.push(`${whereOf(found)} has ${[...schemas.repaired].join(', ')}`)
    if (schemas.isCut) reading.shortened.push(whereOf(found))
    return operation
  }
  throw new Unusable('has arguments that are too large')
}

interface Described {
  readonly operation: DescribedOperation
  readonly schemas: ArgumentSchemas
}

function attemptDetail(read: () => Described): Described | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof TooManySchemas) return undefined
    throw error
  }
}

function describeIn(
  root: JsonObject, found: Found, { isOld, hasBaseUrl }: Reading, detail: SchemaDetail,
): Described {
  const { id, method, item, operation } = found
  // A fragment tells apart operations of one path. It is never sent.
  const path = found.path.replace(/#.*$/s, '')
  if (method === 'TRACE') throw new Unusable('uses TRACE, which is not supported')
  if (!hasBaseUrl && [item, operation].some(({ servers }) => Array.isArray(servers) && servers.length > 0)) {
    throw new Unusable('has its own servers; set "baseUrl" in the configuration')
  }
  const schemas = new ArgumentSchemas(root, isOld, detail)
  const parameters = readParameters(root, [item['parameters'], operation['parameters']], schemas)
  const taken = new Set(parameters.map(({ sent }) => sent.argument))
  const body = BODILESS.has(method) ? undefined : readBody(root, operation['requestBody'], schemas, taken)
  if (body && taken.has(body.sent.argument)) {
    throw new Unusable(`has a parameter with the name "${body.sent.argument}", which is reserved for its body`)
  }
  refusePath(path, new Set(parameters.filter(({ sent }) => sent.in === 'path').map(({ sent }) => sent.name)))
  const all = [...parameters, ...(body ? [body] : [])]
  const required = all.filter((one) => one.required).map(({ sent }) => sent.argument)
  const described: DescribedOperation = {
    operationId: id, method, path,
    label: textOf(operation['summary']) ?? id,
    description: textOf(operation['description']) ?? textOf(operation['summary']) ?? path,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(all.map(({ sent, schema }) => [sent.argument, schema])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...schemas.definitions,
    },
    parameters: parameters.map(({ sent }) => sent),
    body: body?.sent ?? null, security: readSecurity(root, operation),
  }
  return { operation: described, schemas }
}

/** A valid path template has no query, fragment, `.` or `..`, and every parameter is described. */
function refusePath(path: string, named: ReadonlySet<string>): void {
  const fixed = path.replaceAll(/\{[^{}/]+\}/g, 'x')
  const isPlain = /^\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/.test(fixed)
  const climbs = fixed.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
  if (!isPlain || climbs || path.length > 2_048) throw new Unusable('has an invalid path')
  const missing = [...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name!).find((name) => !named.has(name))
  if (missing !== undefined) throw new Unusable(`does not describe the path parameter "${visibleText(missing)}"`)
}

function attempt<Value>(faults: string[], where: string, read: () => Value): Value | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Unusable)) throw error
    faults.push(`${where} ${error.message}`)
    return null
  }
}

/** The URL of the first server, with the defaults of its variables. null if there is none, or a default is missing. */
function firstServer(servers: Json | undefined): string | null {
  const first = Array.isArray(servers) ? (servers as readonly Json[])[0] : undefined
  if (!isJsonObject(first) || typeof first['url'] !== 'string') return null
  const { url, variables } = first
  let isWhole = true
  const written = (url as string).replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined
    const value = isJsonObject(variable) ? variable['default'] : undefined
    if (typeof value !== 'string') isWhole = false
    return String(value)
  })
  return isWhole ? written : null
}
