import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { allOf, fault, type Check, type Compiling, type Pattern, type Scope, type ValueFault } from './check.ts'
import { combined, whole } from './combined.ts'
import { inModernKeywords } from './draft-07.ts'
import { lists, unevaluatedItems } from './lists.ts'
import { objects, unevaluatedProperties } from './objects.ts'
import type { Resource } from './places.ts'
import type { DynamicTarget } from './references.ts'
import type { SchemaDocument } from './schema-document.ts'
import { kinds, numbers, texts } from './values.ts'

const NEVER = fault('false schema', 'boolean schema is false')
const always: Check = () => undefined
const never: Check = () => NEVER

/**
 * The check of a reviewed schema: the first fault of a value, or undefined. No code is generated. `pattern` answers undefined for a
 * pattern that cannot run. Contract: time linear in the value, but for what the schema itself repeats; patterns take what they take.
 */
export function compileSchema(
  { root, places, references }: SchemaDocument, pattern: (source: string) => Pattern | undefined,
): (value: Json) => ValueFault | undefined {
  const known = new Map<JsonObject, Check>()
  const needsScope = references?.dynamicTargets.values().some(({ anchor }) => anchor !== undefined) ?? false

  const compiling: Compiling = {
    pattern,
    check(schema) {
      if (!isJsonObject(schema)) return schema === false ? never : always
      const check = known.get(schema)
      if (check !== undefined) return check
      // A schema that is met again inside itself is compiled by then.
      known.set(schema, (...args) => known.get(schema)!(...args))
      const made = compile(schema)
      known.set(schema, made)
      return made
    },
  }

  const compile = (schema: JsonObject): Check => {
    const { resource } = places!.of(schema)!
    const check = keywordsOf(schema, resource)
    if (!needsScope) return check
    return (value, scope, evaluated) => check(value, scope?.resource === resource ? scope : { resource, outer: scope }, evaluated)
  }

  const keywordsOf = (schema: JsonObject, { dialect }: Resource): Check => {
    const target = references!.targets.get(schema)
    if (dialect === 'draft-07' && target !== undefined) return compiling.check(target)
    const dynamic = references!.dynamicTargets.get(schema)
    const keywords = dialect === 'draft-07' ? inModernKeywords(schema) : schema
    const groups = [kinds, numbers, texts, lists, objects, combined].map((group) => group(keywords, compiling))
    return whole(
      allOf([...groups, target === undefined ? undefined : compiling.check(target), dynamic && dynamicReference(dynamic)]),
      allOf([unevaluatedItems(keywords, compiling), unevaluatedProperties(keywords, compiling)]),
    )
  }

  const dynamicReference = ({ target, anchor }: DynamicTarget): Check => {
    const fixed = compiling.check(target)
    if (anchor === undefined) return fixed
    const choices = new Map(places!.resources.values().filter(({ dynamicAnchors }) => dynamicAnchors.has(anchor))
      .map((resource) => [resource, compiling.check(resource.dynamicAnchors.get(anchor)!)]))
    return (value, scope, evaluated) => (outermost(choices, scope) ?? fixed)(value, scope, evaluated)
  }

  const check = compiling.check(root)
  return (value) => check(value, undefined, undefined)
}

function outermost(choices: ReadonlyMap<Resource, Check>, scope: Scope | undefined): Check | undefined {
  let chosen: Check | undefined
  for (let at = scope; at !== undefined; at = at.outer) chosen = choices.get(at.resource) ?? chosen
  return chosen
}
