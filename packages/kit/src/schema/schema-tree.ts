import { isJsonObject, valueAt, type Json, type JsonObject } from '../json.ts'
import { visibleText } from '../text.ts'
import { dialectOf, ignoredBy, type Dialect } from './keywords.ts'
import { inModernKeywords, subschemaPointer, subschemasOf } from './subschemas.ts'

/** A fault in a schema. */
export interface SchemaFault {
  /** JSON Pointer from the root of the schema. */
  readonly path: string
  /** Continues a sentence that begins with the name of the schema. */
  readonly message: string
}

/** A schema with its own identifier, and the schemas inside it up to the next one with an identifier. */
export interface Resource {
  readonly uri: string
  readonly dialect: Dialect
  /** Keywords that its meta-schema leaves out. */
  readonly ignored: ReadonlySet<string>
  readonly root: JsonObject
  readonly anchors: Map<string, JsonObject>
  readonly dynamicAnchors: Map<string, JsonObject>
}

/** One schema and its position. */
export interface SchemaNode {
  readonly path: string
  readonly depth: number
  readonly schema: JsonObject
  /** The keywords that have an effect, as in 2020-12. */
  readonly keywords: JsonObject
  readonly resource: Resource
}

type Position = Omit<SchemaNode, 'keywords' | 'resource'>

const NOTHING: ReadonlySet<string> = new Set()

/** The base of relative identifiers. The name is reserved and never exists (RFC 6761). */
const NO_BASE = 'https://schema.invalid/'

/** A schema and all schemas inside it, with their identifiers. */
export class SchemaTree {
  readonly all: SchemaNode[] = []
  readonly faults: SchemaFault[] = []
  readonly resources = new Map<string, Resource>()
  readonly #bySchema = new Map<JsonObject, SchemaNode>()
  readonly #definitions: JsonObject

  constructor(root: JsonObject) {
    this.#definitions = isJsonObject(root['$defs']) ? root['$defs'] : {}
    this.#add({ path: '', depth: 1, schema: root }, undefined)
  }

  of(schema: JsonObject): SchemaNode | undefined {
    return this.#bySchema.get(schema)
  }

  /** Adds the schemas directly below one. The caller walks the tree and limits it. */
  addChildren(node: SchemaNode): void {
    const { schema, path, depth, resource } = node
    for (const child of subschemasOf(schema, resource.dialect)) {
      if (!isJsonObject(child.schema)) continue
      this.#add({ path: path + subschemaPointer(child), depth: depth + 1, schema: child.schema }, resource)
    }
  }

  #add(node: Position, around: Resource | undefined): void {
    const resource = this.#resourceOf(node, around)
    const { $anchor, $dynamicAnchor } = node.schema
    if (resource.dialect === '2020-12') {
      for (const anchor of [$anchor, $dynamicAnchor]) {
        if (typeof anchor === 'string') addFirst(resource.anchors, anchor, node.schema)
      }
      if (typeof $dynamicAnchor === 'string') addFirst(resource.dynamicAnchors, $dynamicAnchor, node.schema)
    }
    const full = { ...node, resource, keywords: effective(node.schema, resource) }
    this.all.push(full)
    this.#bySchema.set(node.schema, full)
  }

  #resourceOf({ schema, path }: Position, around: Resource | undefined): Resource {
    const { $id, $schema } = schema
    // Only the root of a resource may choose its dialect.
    const mayChoose = around === undefined || typeof $id === 'string'
    const chosen = typeof $schema === 'string' && mayChoose ? $schema : undefined
    const known = chosen === undefined ? undefined : dialectOf(chosen)
    const isOther = chosen !== undefined && known === undefined
    const ignored = isOther ? this.#ignoredIn(chosen) : chosen === undefined ? around?.ignored : undefined
    if (isOther && ignored === undefined) {
      this.#fault(`${path}/$schema`, 'must name JSON Schema 2020-12 or draft-07, or be left out')
    }
    const dialect = known ?? (chosen === undefined ? around?.dialect : undefined) ?? '2020-12'
    // In draft-07 keywords beside a reference are ignored.
    const isIgnored = dialect === 'draft-07' && typeof schema['$ref'] === 'string'
    const id = typeof $id === 'string' && !isIgnored ? $id : undefined
    if (id !== undefined && dialect === 'draft-07' && id.startsWith('#') && around !== undefined) {
      addFirst(around.anchors, id.slice(1), schema)
      return around
    }
    if (id === undefined && around !== undefined) return around
    return this.#newResource({ root: schema, dialect, ignored: ignored ?? NOTHING }, path, id, around)
  }

  /** What a meta-schema leaves out that is a definition of the whole schema. Others would have to be fetched. */
  #ignoredIn(metaSchema: string): ReadonlySet<string> | undefined {
    const found = Object.values(this.#definitions)
      .find((one) => isJsonObject(one) && one['$id'] === metaSchema && isJsonObject(one['$vocabulary']))
    return isJsonObject(found) ? ignoredBy(found['$vocabulary'] as JsonObject) : undefined
  }

  #newResource(
    parts: Pick<Resource, 'root' | 'dialect' | 'ignored'>, path: string, id: string | undefined,
    around: Resource | undefined,
  ): Resource {
    const { root: schema, dialect } = parts
    const url = parseUrl(id ?? '', around?.uri ?? NO_BASE)
    if (url === undefined) this.#fault(`${path}/$id`, 'must be a URI')
    else if (url.fragment !== '' && dialect === '2020-12') {
      this.#fault(`${path}/$id`, 'must be a URI without a fragment')
    }
    const uri = url?.uri ?? NO_BASE
    const resource: Resource = { ...parts, uri, anchors: new Map(), dynamicAnchors: new Map() }
    if (url !== undefined && dialect === 'draft-07' && url.fragment !== '') resource.anchors.set(url.fragment, schema)
    if (this.resources.has(uri)) this.#fault(`${path}/$id`, 'is the identifier of another schema in it')
    else this.resources.set(uri, resource)
    return resource
  }

  #fault(path: string, message: string): void {
    this.faults.push({ path, message })
  }
}

/** The resource and the fragment of a reference. undefined for an invalid one. */
function parseUrl(reference: string, base: string): { readonly uri: string; readonly fragment: string } | undefined {
  try {
    const url = new URL(reference, base)
    const fragment = decodeURIComponent(url.hash.slice(1))
    url.hash = ''
    return { uri: url.href, fragment }
  } catch {
    return undefined
  }
}

function effective(schema: JsonObject, { dialect, ignored }: Resource): JsonObject {
  if (dialect === 'draft-07') return typeof schema['$ref'] === 'string' ? {} : inModernKeywords(schema)
  if (ignored.size === 0) return schema
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !ignored.has(keyword)))
}

function addFirst<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (!map.has(key)) map.set(key, value)
}

/** The targets of references. */
export interface References {
  readonly targets: ReadonlyMap<JsonObject, JsonObject | boolean>
  /** Targets of each `$dynamicRef` that has one target, whatever the way that leads to it. */
  readonly dynamicTargets: ReadonlyMap<JsonObject, JsonObject | boolean>
  /** The anchor and the first candidate of each `$dynamicRef` whose target depends on the way. */
  readonly open: ReadonlyMap<JsonObject, { readonly anchor: string; readonly target: JsonObject }>
  readonly faults: readonly SchemaFault[]
}

type Found = { readonly target: JsonObject | boolean; readonly fragment: string } | { readonly fault: SchemaFault }

/** Resolves all references of a schema. A reference to another document is a fault: nothing is fetched. */
export function resolveReferences(tree: SchemaTree): References {
  const targets = new Map<JsonObject, JsonObject | boolean>()
  const dynamicTargets = new Map<JsonObject, JsonObject | boolean>()
  const open = new Map<JsonObject, { readonly anchor: string; readonly target: JsonObject }>()
  const faults: SchemaFault[] = []
  for (const node of tree.all) {
    const { $ref, $dynamicRef } = node.schema
    if (typeof $ref === 'string') {
      const found = find($ref, '/$ref', node, tree)
      if ('fault' in found) faults.push(found.fault)
      else targets.set(node.schema, found.target)
    }
    if (typeof $dynamicRef === 'string' && node.resource.dialect === '2020-12') {
      const found = find($dynamicRef, '/$dynamicRef', node, tree)
      if ('fault' in found) faults.push(found.fault)
      else if (isOpen(found, tree)) {
        open.set(node.schema, { anchor: found.fragment, target: found.target as JsonObject })
      } else dynamicTargets.set(node.schema, found.target)
    }
  }
  return { targets, dynamicTargets, open, faults }
}

/** Whether several resources have the same `$dynamicAnchor`, so that the target depends on the way to the reference. */
function isOpen({ target, fragment }: Exclude<Found, { fault: SchemaFault }>, tree: SchemaTree): boolean {
  const isDynamic = isJsonObject(target) && target['$dynamicAnchor'] === fragment
  return isDynamic && schemasWith(fragment, tree).length > 1
}

/** The schemas with this `$dynamicAnchor`, one of each resource. */
export const schemasWith = (anchor: string, { resources }: SchemaTree): readonly JsonObject[] =>
  [...resources.values()].map(({ dynamicAnchors }) => dynamicAnchors.get(anchor)).filter((one) => one !== undefined)

/** All schemas that some reference leads to. */
export function* targetsOf({ targets, dynamicTargets, open }: References, tree: SchemaTree): Generator<Json> {
  yield* targets.values()
  yield* dynamicTargets.values()
  for (const anchor of new Set(open.values().map((one) => one.anchor))) {
    yield* schemasWith(anchor, tree)
  }
}

function find(reference: string, keyword: string, { resource, path }: SchemaNode, tree: SchemaTree): Found {
  const refuse = (why: string): Found =>
    ({ fault: { path: path + keyword, message: `refers to "${visibleText(reference)}"${why}` } })
  const url = parseUrl(reference, resource.uri)
  const owner = url && tree.resources.get(url.uri)
  if (owner === undefined) return refuse('; only references inside the schema are followed')
  const { fragment } = url!
  const target = fragment === '' ? owner.root
    : fragment.startsWith('/') ? valueAt(owner.root, fragment) : owner.anchors.get(fragment)
  // A value that is not a schema, such as a default, was not checked.
  const isSchema = typeof target === 'boolean' || (isJsonObject(target) && tree.of(target) !== undefined)
  if (isSchema) return { target, fragment }
  return refuse(', where there is no schema')
}
