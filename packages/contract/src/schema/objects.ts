import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { allOf, below, fault, type Check, type Compiling, type KeywordGroup, type Pattern } from './check.ts'
import type { Evaluated } from './evaluated.ts'

type ObjectCheck = (value: JsonObject, ...rest: Parameters<Check> extends [Json, ...infer Rest] ? Rest : never) => ReturnType<Check>

const forObjects = (check: ObjectCheck): Check => (value, scope, evaluated) =>
  isJsonObject(value) ? check(value, scope, evaluated) : undefined

export const objects: KeywordGroup = (schema, compiling) =>
  allOf([sizes(schema), required(schema), dependents(schema, compiling), names(schema, compiling), members(schema, compiling)])

function sizes({ maxProperties, minProperties }: JsonObject): Check | undefined {
  if (maxProperties === undefined && minProperties === undefined) return undefined
  const tooMany = fault('maxProperties', `must NOT have more than ${String(maxProperties)} properties`)
  const tooFew = fault('minProperties', `must NOT have fewer than ${String(minProperties)} properties`)
  return forObjects((value) => {
    const { length } = Object.keys(value)
    if (maxProperties !== undefined && length > (maxProperties as number)) return tooMany
    return minProperties !== undefined && length < (minProperties as number) ? tooFew : undefined
  })
}

const missing = (name: string) => ({ name, wrong: fault('required', `must have required property '${name}'`, name) })

// Every look at a member is for an own one: each object has an inherited "constructor" and "toString".

function required({ required: wanted = [] }: JsonObject): Check | undefined {
  const each = (wanted as readonly string[]).map(missing)
  if (each.length === 0) return undefined
  return forObjects((value) => each.find(({ name }) => !Object.hasOwn(value, name))?.wrong)
}

function dependents({ dependentRequired = {}, dependentSchemas = {} }: JsonObject, compiling: Compiling): Check | undefined {
  const needs = Object.entries(dependentRequired as Readonly<Record<string, readonly string[]>>).flatMap(([name, wanted]) => wanted.map((other) =>
    ({ name, other, wrong: fault('dependentRequired', `must have property ${other} when property ${name} is present`, other) })))
  const schemas = Object.entries(dependentSchemas as JsonObject).map(([name, schema]) => ({ name, check: compiling.check(schema) }))
  if (needs.length === 0 && schemas.length === 0) return undefined
  return forObjects((value, scope, evaluated) => {
    const lacking = needs.find(({ name, other }) => Object.hasOwn(value, name) && !Object.hasOwn(value, other))
    if (lacking !== undefined) return lacking.wrong
    for (const { name, check } of schemas) {
      const found = Object.hasOwn(value, name) ? check(value, scope, evaluated) : undefined
      if (found !== undefined) return found
    }
    return undefined
  })
}

const names: KeywordGroup = ({ propertyNames }, compiling) => {
  if (propertyNames === undefined) return undefined
  const check = compiling.check(propertyNames)
  return forObjects((value, scope) => {
    for (const name of Object.keys(value)) {
      const found = check(name, scope, undefined)
      if (found !== undefined) return fault('propertyNames', `must NOT have the property name ${JSON.stringify(name)}, which ${found.message}`, name)
    }
    return undefined
  })
}

const members: KeywordGroup = ({ properties = {}, patternProperties = {}, additionalProperties }, compiling) => {
  const known = new Map(Object.entries(properties as JsonObject).map(([name, schema]) => [name, compiling.check(schema)]))
  const patterns = Object.entries(patternProperties as JsonObject).map(([source, schema]) =>
    ({ pattern: compiling.pattern(source), check: compiling.check(schema) }))
  // Where a pattern does not run, a name without a schema may be one that it means.
  const canTell = patterns.every(({ pattern }) => pattern !== undefined)
  const others = additionalProperties === undefined || !canTell ? undefined : compiling.check(additionalProperties)
  if (known.size === 0 && patterns.length === 0 && others === undefined) return undefined
  const matching = patterns.filter((one): one is { pattern: Pattern; check: Check } => one.pattern !== undefined)
  return forObjects((value, scope, evaluated) => {
    if (!canTell) evaluated?.addAllNames()
    for (const name of Object.keys(value)) {
      const member = value[name]!
      const own = known.get(name)
      let found = own?.(member, scope, undefined)
      let isKnown = own !== undefined
      for (const { pattern, check } of matching) {
        if (found !== undefined) break
        if (!pattern.test(name)) continue
        isKnown = true
        found = check(member, scope, undefined)
      }
      if (!isKnown && others !== undefined) {
        found = others(member, scope, undefined)
        if (found !== undefined && additionalProperties === false) return surplus('additionalProperties', 'additional', name)
        isKnown = true
      }
      if (found !== undefined) return below(name, found)
      if (isKnown) evaluated?.addName(name)
    }
    return undefined
  })
}

const surplus = (keyword: string, kind: string, name: string) =>
  fault(keyword, `must NOT have ${kind} properties (${JSON.stringify(name)})`, name)

/** What no other keyword of the schema has looked at. */
export const unevaluatedProperties: KeywordGroup = ({ unevaluatedProperties: schema }, compiling) => {
  if (schema === undefined) return undefined
  const check = compiling.check(schema)
  return forObjects((value, scope, evaluated) => {
    for (const name of Object.keys(value)) {
      if ((evaluated as Evaluated).hasName(name)) continue
      const found = check(value[name]!, scope, undefined)
      if (found !== undefined) return schema === false ? surplus('unevaluatedProperties', 'unevaluated', name) : below(name, found)
      evaluated?.addName(name)
    }
    return undefined
  })
}
