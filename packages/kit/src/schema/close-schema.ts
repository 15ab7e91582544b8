import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { DEEP_CONST, DEEP_ENUM } from './ajv-keywords.ts'
import { SituatedMap, type DynamicScope, type Situated } from './dynamic-scope.ts'
import type { IdlePatterns } from './idle-patterns.ts'
import { constrains, UNEVALUATED } from './keywords.ts'
import type { SchemaDocument } from './schema-document.ts'
import { targetsOf } from './schema-tree.ts'
import { mapSubschemas, patternsOf } from './subschemas.ts'

/** Ajv treats a property of this name as the prototype. A pattern for it works. */
const PROTOTYPE = '__proto__'

/** A schema in the form that Ajv validates correctly. */
export interface ClosedSchema {
  readonly schema: JsonObject | boolean
  /** Names in `$defs` of the schemas in `apart`. */
  readonly names: SituatedMap<string>
  /** The schemas that have `unevaluated…`. In the closed form the keyword is an index into this list. */
  readonly unevaluated: readonly Situated[]
  /** The patterns in it, each as often as it occurs. */
  readonly patterns: readonly string[]
}

/**
 * Translates a checked schema to 2020-12 with all references as pointers into `$defs`, without identifiers and without
 * keywords that do not constrain. A schema whose dynamic references lead elsewhere on different ways becomes several.
 * `idle`: patterns that cannot run and the schemas that depend on them; they are ignored. `apart`: schemas that must be
 * callable separately.
 */
export function closeSchema(
  { root, tree, references, ways }: SchemaDocument, idle: IdlePatterns, apart: Iterable<Json>,
): ClosedSchema {
  const definitions = new SituatedMap<{ readonly name: string; schema: JsonObject }>()
  const names = new SituatedMap<string>()
  const [unevaluated, patterns]: [Situated[], string[]] = [[], []]
  if (!isJsonObject(root)) return { schema: root !== false, names, unevaluated, patterns }
  const isTarget = new Set<Json>([...targetsOf(references!, tree!), ...apart])

  const referTo = (target: JsonObject | boolean, from: DynamicScope): JsonObject => {
    if (!isJsonObject(target)) return target ? {} : { not: {} }
    const place = ways!.to(target, from)
    const known = definitions.get(place)
    if (known !== undefined) return { $ref: `#/$defs/${known.name}` }
    const definition = { name: String(definitions.size), schema: {} as JsonObject }
    // Set before recursion, because a schema may refer to itself.
    definitions.set(place, definition)
    names.set(place, definition.name)
    definition.schema = close(place)
    return { $ref: `#/$defs/${definition.name}` }
  }

  const below = (schema: Json, from: DynamicScope): Json => {
    if (!isJsonObject(schema)) return schema
    return isTarget.has(schema) ? referTo(schema, from) : close(ways!.to(schema, from))
  }

  const close = (place: Situated): JsonObject => {
    const { schema, scope } = place
    // Schemas that `IdlePatterns` makes are not in the tree.
    const keywords = idle.ignoredIn(tree!.of(schema)?.keywords ?? schema)
    patterns.push(...patternsOf(keywords).map(([pattern]) => pattern))
    const constraining = Object.entries(withPlainNames(keywords)).filter(([keyword]) => constrains(keyword))
    const closed = mapSubschemas(Object.fromEntries(constraining), (one) => below(one.schema, scope), '2020-12')
    const also = [references!.targets.get(schema), ways!.dynamicTarget(place)]
      .flatMap((one) => one === undefined ? [] : [referTo(one, scope)])
    if (constraining.length === 0 && also.length === 1) return also[0]!
    const own = withSchemas(withSafeEquality(withoutEmptyEnum(withContainsApart(closed))), also)
    const marks = UNEVALUATED.filter((keyword) => keyword in own)
    if (marks.length === 0) return own
    const index = unevaluated.push(place) - 1
    return { ...own, ...Object.fromEntries(marks.map((keyword) => [keyword, index])) }
  }

  const start = ways!.to(root)
  const whole = isTarget.has(root) ? referTo(root, start.scope) : close(start)
  const $defs = Object.fromEntries(definitions.entries().map(([, { name, schema }]) => [name, schema]))
  return { schema: definitions.size === 0 ? whole : { ...whole, $defs }, names, unevaluated, patterns }
}

function withPlainNames(schema: JsonObject): JsonObject {
  const { properties, patternProperties } = schema
  if (!isJsonObject(properties) || !Object.hasOwn(properties, PROTOTYPE)) return schema
  const others = Object.entries(properties).filter(([name]) => name !== PROTOTYPE)
  const pattern = `^${PROTOTYPE}$`
  const also = isJsonObject(patternProperties) ? patternProperties[pattern] : undefined
  const meant = also === undefined ? properties[PROTOTYPE]! : { allOf: [properties[PROTOTYPE]!, also] }
  const patterns = { ...patternProperties as JsonObject | undefined, [pattern]: meant }
  return { ...schema, properties: Object.fromEntries(others), patternProperties: patterns }
}

/** Ajv rejects an empty enum. No value satisfies it. */
function withoutEmptyEnum(schema: JsonObject): JsonObject {
  const { enum: allowed, ...rest } = schema
  return Array.isArray(allowed) && allowed.length === 0 ? withSchemas(rest, [false]) : schema
}

const isCompound = (value: Json): boolean => typeof value === 'object' && value !== null

/** Ajv compares lists and objects by calling methods of the value. */
function withSafeEquality(schema: JsonObject): JsonObject {
  const { const: constant, enum: allowed, ...rest } = schema
  return {
    ...rest,
    ...(constant !== undefined && { [isCompound(constant) ? DEEP_CONST : 'const']: constant }),
    ...(Array.isArray(allowed) && { [allowed.some(isCompound) ? DEEP_ENUM : 'enum']: allowed }),
  }
}

/** Beside `prefixItems` Ajv uses the result of the last item as the result of `contains`. */
function withContainsApart(schema: JsonObject): JsonObject {
  const { contains, minContains, maxContains, ...rest } = schema
  if (contains === undefined || schema['prefixItems'] === undefined) return schema
  const limits = {
    ...(minContains !== undefined && { minContains }), ...(maxContains !== undefined && { maxContains }),
  }
  return withSchemas(rest, [{ contains, ...limits }])
}

function withSchemas(schema: JsonObject, more: readonly Json[]): JsonObject {
  const own = schema['allOf'] as readonly Json[] | undefined ?? []
  return more.length === 0 ? schema : { ...schema, allOf: [...own, ...more] }
}
