import type { JsonObject } from '../json.ts'
import type { References, Resource, SchemaTree } from './schema-tree.ts'

/**
 * The resources that decide dynamic references on one way through a schema: for each `$dynamicAnchor` that several
 * resources have, the first of them that was entered. Equal scopes are the same object.
 */
export type DynamicScope = ReadonlyMap<string, Resource>

/** A schema on one way: dynamic references in it have one target there. */
export interface Situated {
  readonly schema: JsonObject
  readonly scope: DynamicScope
}

/** The ways through one document. */
export class SchemaWays {
  readonly #tree: SchemaTree
  readonly #references: References
  /** Anchors whose target depends on the way. */
  readonly #anchors: ReadonlySet<string>
  readonly #scopes = new Map<string, DynamicScope>()
  readonly #numbers = new Map<Resource, number>()
  readonly #outside: DynamicScope = new Map()

  constructor(tree: SchemaTree, references: References) {
    this.#tree = tree
    this.#references = references
    this.#anchors = new Set(references.open.values().map(({ anchor }) => anchor))
  }

  /** A schema that is entered from a scope. Without one, the way begins there. */
  to(schema: JsonObject, from: DynamicScope = this.#outside): Situated {
    const resource = this.#tree.of(schema)?.resource
    return { schema, scope: resource === undefined ? from : this.#enter(resource, from) }
  }

  /** The target of `$dynamicRef`. */
  dynamicTarget({ schema, scope }: Situated): JsonObject | boolean | undefined {
    const open = this.#references.open.get(schema)
    if (open === undefined) return this.#references.dynamicTargets.get(schema)
    return scope.get(open.anchor)?.dynamicAnchors.get(open.anchor) ?? open.target
  }

  #enter(resource: Resource, before: DynamicScope): DynamicScope {
    const added = [...resource.dynamicAnchors.keys()].filter((name) => this.#anchors.has(name) && !before.has(name))
    if (added.length === 0) return before
    const scope = new Map([...before, ...added.map((name) => [name, resource] as const)])
    const key = [...scope].map(([name, owner]) => `${name} ${this.#numberOf(owner)}`).toSorted().join(',')
    const known = this.#scopes.get(key) ?? scope
    this.#scopes.set(key, known)
    return known
  }

  #numberOf(resource: Resource): number {
    const number = this.#numbers.get(resource) ?? this.#numbers.size
    this.#numbers.set(resource, number)
    return number
  }
}

/** A map from schemas on their ways. */
export class SituatedMap<Value> {
  readonly #bySchema = new Map<JsonObject, Map<DynamicScope, Value>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get({ schema, scope }: Situated): Value | undefined {
    return this.#bySchema.get(schema)?.get(scope)
  }

  set({ schema, scope }: Situated, value: Value): void {
    const byScope = this.#bySchema.get(schema) ?? new Map<DynamicScope, Value>()
    if (!byScope.has(scope)) this.#size++
    this.#bySchema.set(schema, byScope.set(scope, value))
  }

  *entries(): Generator<readonly [Situated, Value]> {
    for (const [schema, byScope] of this.#bySchema) {
      for (const [scope, value] of byScope) yield [{ schema, scope }, value]
    }
  }

  /** Whether it has the schema on any way. */
  hasSchema(schema: JsonObject): boolean {
    return this.#bySchema.has(schema)
  }
}
