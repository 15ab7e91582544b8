import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { visibleText } from '../text.ts'
import { parseUrl, type SchemaNode, type SchemaTree, type SchemaFault } from './schema-tree.ts'

/** The targets of references. */
export interface References {
  readonly targets: ReadonlyMap<JsonObject, JsonObject | boolean>
  /** Targets of `$dynamicRef`. */
  readonly dynamicTargets: ReadonlyMap<JsonObject, JsonObject | boolean>
  readonly faults: readonly SchemaFault[]
}

type Found = { readonly target: JsonObject | boolean; readonly fragment: string } | { readonly fault: SchemaFault }

/** Resolves all references of a schema. A reference to another document is a fault: nothing is fetched. */
export function resolveReferences(tree: SchemaTree): References {
  const targets = new Map<JsonObject, JsonObject | boolean>()
  const dynamicTargets = new Map<JsonObject, JsonObject | boolean>()
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
      else if (isAmbiguous(found, tree)) faults.push({ path: `${node.path}/$dynamicRef`, message: 'leads to one of several schemas, which is not supported; use "$ref"' })
      else dynamicTargets.set(node.schema, found.target)
    }
  }
  return { targets, dynamicTargets, faults }
}

/** Whether several resources have the same `$dynamicAnchor`, so that the target depends on the path to the reference. Ajv gets it wrong. */
function isAmbiguous({ target, fragment }: Exclude<Found, { fault: SchemaFault }>, tree: SchemaTree): boolean {
  const isDynamic = isJsonObject(target) && target['$dynamicAnchor'] === fragment
  return isDynamic && tree.resources.values().filter(({ dynamicAnchors }) => dynamicAnchors.has(fragment)).toArray().length > 1
}

function find(reference: string, keyword: string, { resource, path }: SchemaNode, tree: SchemaTree): Found {
  const refuse = (why: string): Found => ({ fault: { path: path + keyword, message: `refers to "${visibleText(reference)}"${why}` } })
  const url = parseUrl(reference, resource.uri)
  const owner = url && tree.resources.get(url.uri)
  if (owner === undefined) return refuse('; only references inside the schema are followed')
  const { fragment } = url!
  const target = fragment === '' ? owner.root : fragment.startsWith('/') ? atPointer(owner.root, fragment) : owner.anchors.get(fragment)
  // A value that is not a schema, such as a default, was not checked.
  if (typeof target === 'boolean' || (isJsonObject(target) && tree.of(target) !== undefined)) return { target, fragment }
  return refuse(', where there is no schema')
}

function atPointer(root: JsonObject, pointer: string): Json | undefined {
  let target: Json | undefined = root
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isJsonObject(target) && Object.hasOwn(target, key)) target = target[key]
    else if (Array.isArray(target) && /^(?:0|[1-9]\d*)$/.test(key)) target = (target as readonly Json[])[Number(key)]
    else return undefined
  }
  return target
}
