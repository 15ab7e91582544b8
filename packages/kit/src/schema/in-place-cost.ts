import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { appliesInPlace, schemaKeywordForm, UNEVALUATED } from './keywords.ts'
import type { Places } from './schema-tree.ts'
import type { References } from './references.ts'

/**
 * The most schemas that apply to one value once references are followed. Twenty definitions that each name the next one twice are a
 * million of these, and a schema that refers to itself in place is never done: such schemas are small to write and stop the host
 * when they are used. Infinity for the latter.
 */
export function inPlaceCost(places: Places, { targets, dynamicTargets }: References): number {
  const costs = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()

  const costOf = (schema: JsonObject): number => {
    const known = costs.get(schema)
    if (known !== undefined) return known
    if (open.has(schema)) return Infinity
    open.add(schema)
    const once = appliedWith(schema).reduce((sum: number, other) => isJsonObject(other) ? sum + costOf(other) : sum, 1)
    // What was looked at is found out in a second pass over the same schemas.
    const cost = UNEVALUATED.some((keyword) => keyword in schema) ? 2 * once : once
    open.delete(schema)
    costs.set(schema, cost)
    return cost
  }

  const appliedWith = (schema: JsonObject): readonly (Json | undefined)[] => {
    const { dialect } = places.of(schema)!.resource
    const target = targets.get(schema)
    // In draft-07 nothing that stands beside a reference counts.
    if (target !== undefined && dialect === 'draft-07') return [target]
    const below = Object.entries(schema).filter(([keyword]) => appliesInPlace(keyword)).flatMap(([keyword, value]) => {
      const form = schemaKeywordForm(keyword, dialect)
      if (form === 'map' && isJsonObject(value)) return Object.values(value)
      if (form === 'list' && Array.isArray(value)) return value as readonly Json[]
      return form === 'subschema' ? [value] : []
    })
    return [...below, target, dynamicTargets.get(schema)]
  }

  return places.all.reduce((highest, { schema }) => Math.max(highest, costOf(schema)), 0)
}
