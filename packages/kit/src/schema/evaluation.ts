import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { inModernKeywords, UNEVALUATED } from './keywords.ts'
import type { SchemaDocument } from './schema-document.ts'

/** The members of a value that some keyword evaluated. */
class Evaluated {
  readonly names = new Set<string>()
  readonly indexes = new Set<number>()
  hasAllNames = false
  hasAllItems = false
}

/** Checks that are implemented elsewhere. */
export interface Checks {
  isValid(schema: Json, value: Json): boolean
  /** undefined for a pattern that cannot run. */
  matches(pattern: string, name: string): boolean | undefined
}

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []

/**
 * Finds the members of a value that a schema did not evaluate, because Ajv counts too many. Contract: the value
 * satisfies all other keywords of the schema, or has already failed.
 */
export class Evaluation {
  readonly #document: SchemaDocument
  readonly #checks: Checks

  constructor(document: SchemaDocument, checks: Checks) {
    this.#document = document
    this.#checks = checks
  }

  /** The schemas whose result decides what is evaluated: alternatives, conditions, `contains`, and `unevaluated…`. */
  static schemasApart({ tree }: SchemaDocument): readonly Json[] {
    const hasKeyword = tree?.all.some(({ schema }) => UNEVALUATED.some((keyword) => keyword in schema))
    if (tree === undefined || !hasKeyword) return []
    return tree.all.flatMap(({ schema }) => [
      ...listOf(schema['anyOf']), ...listOf(schema['oneOf']),
      ...['if', 'contains', ...UNEVALUATED].flatMap((keyword) => schema[keyword] ?? []),
    ])
  }

  /** The first property that is not evaluated and does not satisfy `unevaluatedProperties`. */
  wrongProperty(schema: JsonObject, value: JsonObject): string | undefined {
    const seen = this.#seen(schema, value)
    if (seen.hasAllNames) return undefined
    const rest = schema['unevaluatedProperties']!
    return Object.keys(value).find((name) => !seen.names.has(name) && !this.#checks.isValid(rest, value[name]!))
  }

  /** The same for the items of a list. */
  wrongItem(schema: JsonObject, value: readonly Json[]): number | undefined {
    const seen = this.#seen(schema, value as Json)
    if (seen.hasAllItems) return undefined
    const rest = schema['unevaluatedItems']!
    const found = value.findIndex((item, index) => !seen.indexes.has(index) && !this.#checks.isValid(rest, item))
    return found === -1 ? undefined : found
  }

  #seen(schema: JsonObject, value: Json): Evaluated {
    const seen = new Evaluated()
    const { unevaluatedProperties: _, unevaluatedItems: __, ...others } = schema
    this.#collect(schema, others, value, seen)
    return seen
  }

  #add(schema: Json | undefined, value: Json, seen: Evaluated): void {
    if (!isJsonObject(schema)) return
    const { tree, references } = this.#document
    const isOld = tree!.of(schema)!.resource.dialect === 'draft-07'
    const target = references!.targets.get(schema)
    if (isOld && target !== undefined) this.#add(target, value, seen)
    else this.#collect(schema, isOld ? inModernKeywords(schema) : schema, value, seen)
  }

  #collect(schema: JsonObject, keywords: JsonObject, value: Json, seen: Evaluated): void {
    const { references } = this.#document
    if (isJsonObject(value)) this.#collectNames(keywords, value, seen)
    else if (Array.isArray(value)) this.#collectItems(keywords, value as readonly Json[], seen)
    const { allOf, anyOf, oneOf, if: condition, then: consequence, else: otherwise, dependentSchemas } = keywords
    for (const one of listOf(allOf)) this.#add(one, value, seen)
    for (const one of [...listOf(anyOf), ...listOf(oneOf)]) {
      if (this.#checks.isValid(one, value)) this.#add(one, value, seen)
    }
    if (condition !== undefined) {
      const holds = this.#checks.isValid(condition, value)
      if (holds) this.#add(condition, value, seen)
      this.#add(holds ? consequence : otherwise, value, seen)
    }
    if (isJsonObject(dependentSchemas) && isJsonObject(value)) {
      for (const [name, one] of Object.entries(dependentSchemas)) {
        if (Object.hasOwn(value, name)) this.#add(one, value, seen)
      }
    }
    const { targets, dynamicTargets } = references!
    for (const target of [targets.get(schema), dynamicTargets.get(schema)]) this.#add(target, value, seen)
  }

  #collectNames(keywords: JsonObject, value: JsonObject, seen: Evaluated): void {
    const { properties, patternProperties, additionalProperties, unevaluatedProperties } = keywords
    if (additionalProperties !== undefined || unevaluatedProperties !== undefined) seen.hasAllNames = true
    const patterns = Object.keys(patternProperties ?? {})
    for (const name of Object.keys(value)) {
      if (isJsonObject(properties) && Object.hasOwn(properties, name)) seen.names.add(name)
      for (const pattern of patterns) {
        // A pattern that cannot run might match any name.
        const matches = this.#checks.matches(pattern, name)
        if (matches === undefined) seen.hasAllNames = true
        else if (matches) seen.names.add(name)
      }
    }
  }

  #collectItems(keywords: JsonObject, value: readonly Json[], seen: Evaluated): void {
    const { prefixItems, items, contains, unevaluatedItems } = keywords
    if (items !== undefined || unevaluatedItems !== undefined) seen.hasAllItems = true
    for (const index of listOf(prefixItems).keys()) seen.indexes.add(index)
    if (contains === undefined) return
    for (const [index, item] of value.entries()) if (this.#checks.isValid(contains, item)) seen.indexes.add(index)
  }
}
