import type { Json, JsonObject } from '../json.ts'
import { allOf, below, fault, type Check, type KeywordGroup } from './check.ts'
import type { Evaluated } from './evaluated.ts'
import { keyOf } from './values.ts'

type ListCheck = (items: readonly Json[], ...rest: Parameters<Check> extends [Json, ...infer Rest] ? Rest : never) => ReturnType<Check>

const forLists = (check: ListCheck): Check => (value, scope, evaluated) =>
  Array.isArray(value) ? check(value as readonly Json[], scope, evaluated) : undefined

export const lists: KeywordGroup = (schema, compiling) => allOf([sizes(schema), members(schema, compiling), contained(schema, compiling)])

function sizes({ maxItems, minItems, uniqueItems }: JsonObject): Check | undefined {
  if (maxItems === undefined && minItems === undefined && uniqueItems !== true) return undefined
  const tooMany = fault('maxItems', `must NOT have more than ${String(maxItems)} items`)
  const tooFew = fault('minItems', `must NOT have fewer than ${String(minItems)} items`)
  const duplicate = fault('uniqueItems', 'must NOT have duplicate items')
  return forLists((items) => {
    if (maxItems !== undefined && items.length > (maxItems as number)) return tooMany
    if (minItems !== undefined && items.length < (minItems as number)) return tooFew
    return uniqueItems === true && !areUnique(items) ? duplicate : undefined
  })
}

/** In time linear in the list. To compare each with each takes half a minute for 25,000 objects. */
function areUnique(items: readonly Json[]): boolean {
  const seen = new Set<Json>()
  return items.every((item) => seen.size < seen.add(keyOf(item)).size)
}

const members: KeywordGroup = ({ prefixItems = [], items }, compiling) => {
  const first = (prefixItems as readonly Json[]).map((schema) => compiling.check(schema))
  const others = items === undefined ? undefined : compiling.check(items)
  if (first.length === 0 && others === undefined) return undefined
  return forLists((list, scope, evaluated) => {
    const end = others === undefined ? Math.min(first.length, list.length) : list.length
    for (let index = 0; index < end; index++) {
      const found = (first[index] ?? others!)(list[index]!, scope, undefined)
      if (found !== undefined) return below(index, found)
    }
    evaluated?.addItemsBefore(end)
    return undefined
  })
}

const contained: KeywordGroup = ({ contains, minContains = 1, maxContains = Infinity }, compiling) => {
  if (contains === undefined) return undefined
  const check = compiling.check(contains)
  const atLeast = fault('contains', `must contain at least ${String(minContains)} valid item(s)`)
  const atMost = fault('contains', `must contain at most ${String(maxContains)} valid item(s)`)
  return forLists((list, scope, evaluated) => {
    let count = 0
    for (const [index, item] of list.entries()) {
      if (check(item, scope, undefined) !== undefined) continue
      count++
      evaluated?.addItem(index)
      if (count > (maxContains as number)) return atMost
    }
    return count < (minContains as number) ? atLeast : undefined
  })
}

/** What no other keyword of the schema has looked at. */
export const unevaluatedItems: KeywordGroup = ({ unevaluatedItems: schema }, compiling) => {
  if (schema === undefined) return undefined
  const check = compiling.check(schema)
  const surplus = fault('unevaluatedItems', 'must NOT have unevaluated items')
  return forLists((list, scope, evaluated) => {
    for (const [index, item] of list.entries()) {
      if ((evaluated as Evaluated).hasItem(index)) continue
      const found = check(item, scope, undefined)
      if (found !== undefined) return schema === false ? surplus : below(index, found)
    }
    evaluated?.addItemsBefore(list.length)
    return undefined
  })
}
