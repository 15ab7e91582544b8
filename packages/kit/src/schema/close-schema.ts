import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { DEEP_CONST, DEEP_ENUM } from './ajv-keywords.ts'
import { inModernKeywords, schemaKeywordForm, UNEVALUATED } from './keywords.ts'
import type { SchemaDocument } from './schema-document.ts'

/** Keywords that do not constrain a value, or that this translation replaces. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '$anchor', '$comment', '$defs', '$dynamicAnchor', '$dynamicRef', '$id', '$ref', '$schema', '$vocabulary',
  'contentEncoding', 'contentMediaType', 'contentSchema', 'default', 'definitions', 'deprecated', 'description',
  'examples', 'format', 'readOnly', 'title', 'writeOnly',
])

/** Whether a keyword can make a value invalid. */
export const constrains = (keyword: string): boolean =>
  !LEFT_OUT.has(keyword) && schemaKeywordForm(keyword) !== undefined

/** Ajv treats a property of this name as the prototype. A pattern for it works. */
const PROTOTYPE = '__proto__'

/** A schema in the form that Ajv validates correctly. */
export interface ClosedSchema {
  readonly schema: JsonObject | boolean
  /** Names in `$defs` of the schemas in `apart`. */
  readonly names: ReadonlyMap<JsonObject, string>
  /** The schemas that have `unevaluated…`. In the closed form the keyword is an index into this list. */
  readonly unevaluated: readonly JsonObject[]
}

/**
 * Translates a checked schema to 2020-12 with all references as pointers into `$defs`, without identifiers and without
 * keywords that do not constrain. `runs`: whether a pattern can run; others are ignored. `apart`: schemas that must be
 * callable separately.
 */
export function closeSchema(
  { root, tree, references }: SchemaDocument, runs: (pattern: string) => boolean, apart: Iterable<Json>,
): ClosedSchema {
  if (!isJsonObject(root)) return { schema: root !== false, names: new Map(), unevaluated: [] }
  const { targets, dynamicTargets } = references!
  const isTarget = new Set<Json>([...targets.values(), ...dynamicTargets.values(), ...apart])
  const definitions = new Map<JsonObject, { readonly name: string; schema: JsonObject }>()
  const unevaluated: JsonObject[] = []

  const referTo = (target: JsonObject | boolean): JsonObject => {
    if (!isJsonObject(target)) return target ? {} : { not: {} }
    const known = definitions.get(target)
    if (known !== undefined) return { $ref: `#/$defs/${known.name}` }
    const definition = { name: String(definitions.size), schema: {} as JsonObject }
    // Set before recursion, because a schema may refer to itself.
    definitions.set(target, definition)
    definition.schema = close(target)
    return { $ref: `#/$defs/${definition.name}` }
  }

  const below = (schema: Json): Json =>
    !isJsonObject(schema) ? schema : isTarget.has(schema) ? referTo(schema) : close(schema)

  const close = (schema: JsonObject): JsonObject => {
    const { dialect } = tree!.of(schema)!.resource
    const target = targets.get(schema)
    // In draft-07 keywords beside a reference are ignored.
    if (dialect === 'draft-07' && target !== undefined) return referTo(target)
    const keywords = dialect === 'draft-07' ? inModernKeywords(schema) : schema
    const closed = Object.entries(withPlainNames(withoutIdlePatterns(keywords, runs)))
      .filter(([keyword]) => constrains(keyword))
      .map(([keyword, value]) => [keyword, closeMembers(keyword, value, below)] as const)
    const also = [target, dynamicTargets.get(schema)].flatMap((one) => one === undefined ? [] : [referTo(one)])
    const own = withSchemas(withSafeEquality(withoutEmptyEnum(withContainsApart(Object.fromEntries(closed)))), also)
    const marks = UNEVALUATED.filter((keyword) => keyword in own)
    if (marks.length === 0) return own
    const index = unevaluated.push(schema) - 1
    return { ...own, ...Object.fromEntries(marks.map((keyword) => [keyword, index])) }
  }

  const whole = isTarget.has(root) ? referTo(root) : close(root)
  const $defs = Object.fromEntries(definitions.values().map(({ name, schema }) => [name, schema]))
  const names = new Map(definitions.entries().map(([schema, { name }]) => [schema, name]))
  return { schema: definitions.size === 0 ? whole : { ...whole, $defs }, names, unevaluated }
}

function closeMembers(keyword: string, value: Json, below: (schema: Json) => Json): Json {
  switch (schemaKeywordForm(keyword)) {
    case 'subschema':
      return below(value)
    case 'list':
      return (value as readonly Json[]).map(below)
    case 'map':
      return Object.fromEntries(Object.entries(value as JsonObject).map(([name, schema]) => [name, below(schema)]))
    default:
      return value
  }
}

/** Ignores patterns that cannot run. Names that they might match are then unconstrained. */
function withoutIdlePatterns(schema: JsonObject, runs: (pattern: string) => boolean): JsonObject {
  const { pattern, patternProperties, ...rest } = schema
  const patterns = Object.entries(patternProperties as JsonObject | undefined ?? {})
  const running = patterns.filter(([source]) => runs(source))
  return {
    ...rest,
    ...(typeof pattern === 'string' && runs(pattern) && { pattern }),
    ...(running.length > 0 && { patternProperties: Object.fromEntries(running) }),
    ...(running.length < patterns.length && { additionalProperties: true }),
  }
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
