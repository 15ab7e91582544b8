import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import type { DynamicScope, Situated } from './dynamic-scope.ts'
import { UNEVALUATED } from './keywords.ts'
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
  isValid(schema: Json, value: Json, from: DynamicScope): boolean
  /** undefined for a pattern that cannot run. */
  matches(pattern: string, name: string): boolean | undefined
  /** Whether a schema has such a pattern, so that it may hold although it does not. */
  isLoose(schema: Json): boolean
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
  wrongProperty(place: Situated, value: JsonObject): string | undefined {
    const seen = this.#seen(place, value)
    if (seen.hasAllNames) return undefined
    const rest = place.schema['unevaluatedProperties']!
    return Object.keys(value)
      .find((name) => !seen.names.has(name) && !this.#checks.isValid(rest, value[name]!, place.scope))
  }

  /** The same for the items of a list. */
  wrongItem(place: Situated, value: readonly Json[]): number | undefined {
    const seen = this.#seen(place, value as Json)
    if (seen.hasAllItems) return undefined
    const rest = place.schema['unevaluatedItems']!
    const found = value.findIndex((item, index) =>
      !seen.indexes.has(index) && !this.#checks.isValid(rest, item, place.scope))
    return found === -1 ? undefined : found
  }

  #seen(place: Situated, value: Json): Evaluated {
    const seen = new Evaluated()
    const { unevaluatedProperties: _, unevaluatedItems: __, ...others } = this.#document.tree!.of(place.schema)!.keywords
    this.#collect(place, others, value, seen)
    return seen
  }

  #add(schema: Json | undefined, from: DynamicScope, value: Json, seen: Evaluated): void {
    if (!isJsonObject(schema)) return
    const { tree, ways } = this.#document
    this.#collect(ways!.to(schema, from), tree!.of(schema)!.keywords, value, seen)
  }

  #collect(place: Situated, keywords: JsonObject, value: Json, seen: Evaluated): void {
    const { references, ways } = this.#document
    const { scope } = place
    const add = (schema: Json | undefined): void => this.#add(schema, scope, value, seen)
    if (isJsonObject(value)) this.#collectNames(keywords, value, seen)
    else if (Array.isArray(value)) this.#collectItems(keywords, value as readonly Json[], scope, seen)
    const { allOf, anyOf, oneOf, if: condition, then: consequence, else: otherwise, dependentSchemas } = keywords
    for (const one of listOf(allOf)) add(one)
    for (const one of [...listOf(anyOf), ...listOf(oneOf)]) if (this.#checks.isValid(one, value, scope)) add(one)
    // A condition that cannot be checked may hold or not.
    if (condition !== undefined && this.#checks.isLoose(condition)) [condition, consequence, otherwise].forEach(add)
    else if (condition !== undefined) {
      const holds = this.#checks.isValid(condition, value, scope)
      if (holds) add(condition)
      add(holds ? consequence : otherwise)
    }
    if (isJsonObject(dependentSchemas) && isJsonObject(value)) {
      for (const [name, one] of Object.entries(dependentSchemas)) if (Object.hasOwn(value, name)) add(one)
    }
    for (const target of [references!.targets.get(place.schema), ways!.dynamicTarget(place)]) add(target)
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

  #collectItems(keywords: JsonObject, value: readonly Json[], scope: DynamicScope, seen: Evaluated): void {
    const { prefixItems, items, contains, unevaluatedItems } = keywords
    if (items !== undefined || unevaluatedItems !== undefined) seen.hasAllItems = true
    for (const index of listOf(prefixItems).keys()) seen.indexes.add(index)
    if (contains === undefined) return
    for (const [index, item] of value.entries()) {
      if (this.#checks.isValid(contains, item, scope)) seen.indexes.add(index)
    }
  }
}
