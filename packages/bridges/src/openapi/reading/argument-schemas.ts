import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { repairedSchema, plainSchema, withSubschemas } from '../../connected/tool-schema.ts'
import { valueAt, Unusable } from './api-description.ts'

/** The limit for schemas in a manifest. */
const MOST_SCHEMAS = 1_000

/**
 * The schemas of one operation in the dialect of a manifest. Referenced schemas are moved to `$defs`, not inlined,
 * because they may be recursive.
 */
export class ArgumentSchemas {
  readonly #root: JsonObject
  readonly #isOld: boolean
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, Json>()
  /** What was converted. */
  readonly repaired = new Set<string>()
  #count = 0

  constructor(root: JsonObject, isOld: boolean) {
    this.#root = root
    this.#isOld = isOld
  }

  /** Throws Unusable for a reference outside the document, or too many schemas. */
  of(written: Json | undefined): Json {
    if (typeof written === 'boolean') return written
    if (!isJsonObject(written)) return {}
    const { schema, repaired } = repairedSchema(this.#read(written))
    for (const what of repaired) this.repaired.add(what)
    return plainSchema(schema)
  }

  /** Follows the references of a schema. Returns an empty object for a boolean schema. */
  resolved(schema: Json): JsonObject {
    let found: Json | undefined = schema
    for (let steps = 0; steps < this.#definitions.size + 1; steps++) {
      const { $ref }: JsonObject = isJsonObject(found) ? found : {}
      if (typeof $ref !== 'string') break
      found = this.#definitions.get($ref.replace('#/$defs/', ''))
    }
    return isJsonObject(found) ? found : {}
  }

  get definitions(): { readonly $defs?: JsonObject } {
    return this.#definitions.size === 0 ? {} : { $defs: Object.fromEntries(this.#definitions) }
  }

  #read(schema: JsonObject): JsonObject {
    if (++this.#count > MOST_SCHEMAS) throw new Unusable(`has more than ${MOST_SCHEMAS} schemas in its arguments`)
    // Remove `$id`: it would change the base of the references.
    const { $ref, $id: _id, $schema: _dialect, ...rest } = schema
    if (typeof $ref === 'string') {
      return { ...(this.#isOld ? {} : this.#read(rest)), $ref: `#/$defs/${this.#define($ref)}` }
    }
    const below = withSubschemas(withoutReadOnly(rest), (one) => this.#read(one))
    return this.#isOld ? modern(below) : below
  }

  #define(reference: string): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const target = valueAt(this.#root, reference)
    const last = reference.split('/').at(-1)!.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 48)
    let name = last
    for (let count = 2; this.#definitions.has(name); count++) name = `${last}_${count}`
    this.#names.set(reference, name)
    // Reserve the name first: the schema may refer to itself.
    this.#definitions.set(name, true)
    this.#definitions.set(name, this.of(target))
    return name
  }
}

/** Removes readOnly properties: only the server sets them. */
function withoutReadOnly(schema: JsonObject): JsonObject {
  const { properties, required } = schema
  if (!isJsonObject(properties)) return schema
  const members = Object.entries(properties)
  const dropped: ReadonlySet<Json> = new Set(members.filter(([, value]) => isReadOnly(value)).map(([name]) => name))
  return {
    ...schema, properties: Object.fromEntries(members.filter(([name]) => !dropped.has(name))),
    ...(Array.isArray(required) && { required: (required as readonly Json[]).filter((name) => !dropped.has(name)) }),
  }
}

const isReadOnly = (value: Json): boolean => isJsonObject(value) && value['readOnly'] === true

/** Converts keywords of OpenAPI 3.0: `nullable` and boolean exclusive bounds. */
function modern({ nullable, minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...schema }: JsonObject): JsonObject {
  const bounded = {
    ...schema,
    ...bound('minimum', 'exclusiveMinimum', minimum, exclusiveMinimum),
    ...bound('maximum', 'exclusiveMaximum', maximum, exclusiveMaximum),
  }
  return nullable === true ? orNull(bounded) : bounded
}

function bound(included: string, excluded: string, limit: Json | undefined, flag: Json | undefined): JsonObject {
  if (typeof flag === 'boolean') return limit === undefined ? {} : { [flag ? excluded : included]: limit }
  return { ...(limit !== undefined && { [included]: limit }), ...(flag !== undefined && { [excluded]: flag }) }
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  const needsNull = Array.isArray(values) && !values.includes(null)
  return { ...schema, type: [type, 'null'], ...(needsNull && { enum: [...values, null] }) }
}
