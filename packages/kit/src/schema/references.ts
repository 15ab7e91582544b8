import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { visibleText } from '../text.ts'
import { parseUrl, type Place, type Places, type SchemaFault } from './schema-tree.ts'

/** Where references lead. */
export interface References {
  readonly targets: ReadonlyMap<JsonObject, JsonObject | boolean>
  /** Of `$dynamicRef`. */
  readonly dynamicTargets: ReadonlyMap<JsonObject, JsonObject | boolean>
  readonly faults: readonly SchemaFault[]
}

type Found = { readonly target: JsonObject | boolean; readonly fragment: string } | { readonly fault: SchemaFault }

/** Every reference of a schema, followed once. A reference out of the schema is a fault: nothing is fetched. */
export function resolveReferences(places: Places): References {
  const targets = new Map<JsonObject, JsonObject | boolean>()
  const dynamicTargets = new Map<JsonObject, JsonObject | boolean>()
  const faults: SchemaFault[] = []
  for (const place of places.all) {
    const { $ref, $dynamicRef } = place.schema
    if (typeof $ref === 'string') {
      const found = find($ref, '/$ref', place, places)
      if ('fault' in found) faults.push(found.fault)
      else targets.set(place.schema, found.target)
    }
    if (typeof $dynamicRef === 'string' && place.resource.dialect === '2020-12') {
      const found = find($dynamicRef, '/$dynamicRef', place, places)
      if ('fault' in found) faults.push(found.fault)
      else if (isAmbiguous(found, places)) faults.push({ path: `${place.path}/$dynamicRef`, message: 'leads to one of several schemas, which is not supported; use "$ref"' })
      else dynamicTargets.set(place.schema, found.target)
    }
  }
  return { targets, dynamicTargets, faults }
}

/** Whether the target depends on the way that leads to the reference: several resources have the same `$dynamicAnchor`. Ajv gets it wrong. */
function isAmbiguous({ target, fragment }: Exclude<Found, { fault: SchemaFault }>, places: Places): boolean {
  const isDynamic = isJsonObject(target) && target['$dynamicAnchor'] === fragment
  return isDynamic && places.resources.values().filter(({ dynamicAnchors }) => dynamicAnchors.has(fragment)).toArray().length > 1
}

function find(reference: string, keyword: string, { resource, path }: Place, places: Places): Found {
  const refuse = (why: string): Found => ({ fault: { path: path + keyword, message: `refers to "${visibleText(reference)}"${why}` } })
  const url = parseUrl(reference, resource.uri)
  const owner = url && places.resources.get(url.uri)
  if (owner === undefined) return refuse('; only references inside the schema are followed')
  const { fragment } = url!
  const target = fragment === '' ? owner.root : fragment.startsWith('/') ? atPointer(owner.root, fragment) : owner.anchors.get(fragment)
  // Anything that is not in a schema's place, such as a default, has not been reviewed.
  if (typeof target === 'boolean' || (isJsonObject(target) && places.of(target) !== undefined)) return { target, fragment }
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
