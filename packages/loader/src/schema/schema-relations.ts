import { canonicalJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import { constrains, schemaKeywordForm } from '@bulkhead/kit/schema'
import { assumed, below, Facts, partsOf, without, type Part, type Place } from './schema-facts.ts'

export const isWithin = ({ values }: Pick<Facts, 'values'>, allowed: readonly Json[]): boolean => {
  const texts = new Set(allowed.map(canonicalJson))
  return values?.every((value) => texts.has(canonicalJson(value))) === true
}

/** The alternatives of the narrow schema: those of `anyOf` or `oneOf`, else its types, else its values. */
export function casesOf(narrow: Facts, part: Part): readonly Facts[] | undefined {
  for (const keyword of ['anyOf', 'oneOf']) {
    const [chosen] = narrow.having(keyword)
    if (chosen === undefined) continue
    const others = narrow.parts.map((one) => one === chosen ? without(one, keyword) : one)
    return (chosen.keywords[keyword] as readonly Json[])
      .map((_, index) => new Facts([...others, ...partsOf(below(chosen, keyword, index))]))
  }
  if (part.keywords['anyOf'] === undefined && part.keywords['oneOf'] === undefined) return undefined
  const alone = (keyword: string, value: Json): Facts => new Facts([...narrow.parts, assumed(part, keyword, value)])
  if (narrow.types.size > 1) {
    // Values that are numbers and no integers cannot be named.
    const types = [...narrow.types].filter((type) => type !== 'integer' || !narrow.types.has('number'))
    if (types.length > 1) return types.map((type) => alone('type', type))
  }
  return (narrow.values?.length ?? 0) > 1 ? narrow.values!.map((value) => alone('const', value)) : undefined
}

/** Whether no value satisfies both. False may be wrong, true never is. `depth`: how far to look into properties. */
export function areDisjoint(a: Facts, b: Facts, depth = 3): boolean {
  const common = a.types.intersection(b.types)
  if (common.size === 0) return true
  const { values } = b
  if (a.values !== undefined && values !== undefined) {
    return !a.values.some((value) => isWithin({ values: [value] }, values))
  }
  if (depth === 0 || common.size > 1 || !common.has('object')) return false
  return [...a.required.union(b.required)].some((name) => areDisjoint(a.property(name), b.property(name), depth - 1))
}

/** Whether two schemas have the same keywords, apart from descriptions. References are followed. */
export function isSame(one: Place, other: Place, open: Set<string> = new Set()): boolean {
  const [ours, theirs] = [partsOf(one), partsOf(other)]
  return ours.length === theirs.length && ours.every((part, index) => {
    const key = JSON.stringify([part.id, theirs[index]!.id])
    // A schema that contains itself meets the same pair again.
    if (open.has(key)) return true
    open.add(key)
    return hasSameKeywords(part, theirs[index]!, open)
  })
}

function hasSameKeywords(one: Part, other: Part, open: Set<string>): boolean {
  const [ours, theirs] = [one, other].map(({ keywords }) =>
    new Set(Object.keys(keywords).filter((keyword) => constrains(keyword) && keyword !== 'allOf')))
  return ours!.symmetricDifference(theirs!).size === 0
    && [...ours!].every((keyword) => isSameKeyword(one, other, keyword, open))
}

/** Whether both parts have the same value for a keyword. */
export function isSameKeyword(one: Part, other: Part, keyword: string, open: Set<string> = new Set()): boolean {
  const [ours, theirs] = [one.keywords[keyword]!, other.keywords[keyword]!]
  const form = schemaKeywordForm(keyword)
  if (form === 'plain') return canonicalJson(ours) === canonicalJson(theirs)
  if (form === 'subschema') return isSame(below(one, keyword), below(other, keyword), open)
  const [names, otherNames] = [Object.keys(ours as JsonObject), new Set(Object.keys(theirs as JsonObject))]
  return names.length === otherNames.size && names.every((name) =>
    otherNames.has(name) && isSame(below(one, keyword, name), below(other, keyword, name), open))
}
