import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { keywordTarget } from './keywords.ts'
import type { SchemaDocument } from './schema-document.ts'
import { schemasWith } from './schema-tree.ts'
import { patternsOf, subschemasOf } from './subschemas.ts'

/**
 * Patterns that cannot run, and the schemas that apply one, directly or not. Such a schema accepts more than it says.
 * That must not make another one accept less, which would cost a tool: `not` would reject everything, for example.
 */
export class IdlePatterns {
  readonly #runs: (pattern: string) => boolean
  readonly #loose = new Set<Json>()

  constructor({ tree, references }: SchemaDocument, runs: (pattern: string) => boolean) {
    this.#runs = runs
    const all = tree?.all ?? []
    const ahead: Json[] = all.filter(({ keywords }) => patternsOf(keywords).some(([pattern]) => !runs(pattern)))
      .map(({ schema }) => schema)
    if (ahead.length === 0) return
    const users = new Map<Json, JsonObject[]>()
    for (const { schema, keywords } of all) {
      const below = subschemasOf(keywords, '2020-12')
        .flatMap((one) => keywordTarget(one.keyword) === 'references' ? [] : one.schema)
      const open = references!.open.get(schema)
      const candidates = open === undefined ? [] : schemasWith(open.anchor, tree!)
      const targets = [references!.targets.get(schema), references!.dynamicTargets.get(schema), ...candidates]
      for (const used of [...below, ...targets]) {
        if (isJsonObject(used)) users.set(used, [...users.get(used) ?? [], schema])
      }
    }
    for (let one = ahead.pop(); one !== undefined; one = ahead.pop()) {
      if (this.#loose.has(one)) continue
      this.#loose.add(one)
      ahead.push(...users.get(one) ?? [])
    }
  }

  isLoose(schema: Json | undefined): boolean {
    return schema !== undefined && this.#loose.has(schema)
  }

  /** The keywords without these patterns, and without what depends on a schema that does not hold. */
  ignoredIn(schema: JsonObject): JsonObject {
    if (this.#loose.size === 0) return schema
    return this.#withoutPatterns(this.#withoutOpposites(schema))
  }

  /** Names that a pattern might match are then unconstrained. */
  #withoutPatterns(schema: JsonObject): JsonObject {
    const { pattern, patternProperties, ...rest } = schema
    const patterns = Object.entries(patternProperties as JsonObject | undefined ?? {})
    const running = patterns.filter(([source]) => this.#runs(source))
    return {
      ...rest,
      ...(typeof pattern === 'string' && this.#runs(pattern) && { pattern }),
      ...(running.length > 0 && { patternProperties: Object.fromEntries(running) }),
      ...(running.length < patterns.length && { additionalProperties: true }),
    }
  }

  #withoutOpposites(schema: JsonObject): JsonObject {
    const { not, oneOf, if: condition, contains, allOf } = schema
    const hasLooseChoice = Array.isArray(oneOf) && oneOf.some((one: Json) => this.isLoose(one))
    const dropped = new Set([
      ...this.isLoose(not) ? ['not'] : [], ...this.isLoose(condition) ? ['if', 'then', 'else'] : [],
      ...this.isLoose(contains) ? ['maxContains'] : [], ...hasLooseChoice ? ['oneOf'] : [],
    ])
    const kept = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !dropped.has(keyword)))
    // Several may hold now.
    return hasLooseChoice ? { ...kept, allOf: [...Array.isArray(allOf) ? allOf : [], { anyOf: oneOf }] } : kept
  }
}
