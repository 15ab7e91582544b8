import { isJsonObject, type JsonObject } from '@bulkhead/contract/plain'
import { resolveLocal } from './local-reference.ts'
import { childSchemas, type Subschema } from './subschemas.ts'

/**
 * How many schemas apply to one value once references are followed. Twenty definitions that each name the next one twice
 * are a million of these, and a schema that refers to itself in place is never done: such schemas are small to write and
 * take the host down when they are used. Infinity for the latter.
 */
export function inPlaceCost(root: JsonObject, ceiling: number): number {
  const costs = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()

  const costOf = (schema: JsonObject): number => {
    const known = costs.get(schema)
    if (known !== undefined) return known
    if (open.has(schema)) return Infinity
    open.add(schema)
    let cost = 1
    for (const child of childSchemas(at(schema))) if (child.inPlace && cost <= ceiling) cost += costOf(child.schema)
    const target = typeof schema['$ref'] === 'string' ? resolveLocal(root, schema['$ref']) : undefined
    if (isJsonObject(target)) cost += costOf(target)
    open.delete(schema)
    costs.set(schema, cost)
    return cost
  }

  let highest = 0
  const pending: Subschema[] = [at(root)]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    highest = Math.max(highest, costOf(next.schema))
    pending.push(...childSchemas(next))
  }
  return highest
}

const at = (schema: JsonObject): Subschema => ({ path: '', depth: 1, schema, inPlace: true })
