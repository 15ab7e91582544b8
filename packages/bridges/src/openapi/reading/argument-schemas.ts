import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { keywordTarget, mapSubschemas, subschemasOf } from '@bulkhead/kit/schema'
import { cut, textOf } from '../../connected/entries.ts'
import { plainSchema, repairedSchema, withNumberBounds } from '../../connected/tool-schema.ts'
import { valueAt, Unusable } from './api-description.ts'

/** How much of the schemas of an operation is kept. */
export interface SchemaDetail {
  /** How many levels of members and items are described. What is below accepts any value. */
  readonly levels: number
  /** Characters of each description below the arguments. */
  readonly descriptionChars: number
  readonly mostSchemas: number
}

/** The schemas of an operation exceed `mostSchemas`. */
export class TooManySchemas extends Unusable {}

const CUT_NOTE = '[The schema of this value is cut: see the documentation of the API.]'
const CUT_CHARS = 120

interface Pending {
  readonly name: string
  readonly target: Json
  readonly level: number
}

/**
 * The schemas of one operation in the dialect of a manifest. Referenced schemas are moved to `$defs`, not inlined,
 * because they may be recursive.
 */
export class ArgumentSchemas {
  readonly #root: JsonObject
  readonly #isOld: boolean
  readonly #detail: SchemaDetail
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, Json>()
  readonly #pending: Pending[] = []
  /** What was converted. */
  readonly repaired = new Set<string>()
  #count = 0
  #isCut = false

  constructor(root: JsonObject, isOld: boolean, detail: SchemaDetail) {
    this.#root = root
    this.#isOld = isOld
    this.#detail = detail
  }

  /** Whether a part was left out. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Throws Unusable for a reference outside the document, or too many schemas. */
  of(written: Json | undefined): Json {
    const schema = this.#convert(written, 0)
    // The least deep first: a definition is described as far as its nearest use allows.
    while (this.#pending.length > 0) {
      const nearest = Math.min(...this.#pending.map(({ level }) => level))
      const [{ name, target, level }] = this.#pending.splice(
        this.#pending.findIndex((one) => one.level === nearest), 1,
      ) as [Pending]
      this.#definitions.set(name, this.#convert(target, level))
    }
    return schema
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

  #convert(written: Json | undefined, level: number): Json {
    if (typeof written === 'boolean') return written
    if (!isJsonObject(written)) return {}
    const { schema, repaired } = repairedSchema(this.#read(written, level))
    for (const what of repaired) this.repaired.add(what)
    return plainSchema(schema)
  }

  #read(written: JsonObject, level: number): JsonObject {
    const { levels, mostSchemas } = this.#detail
    if (++this.#count > mostSchemas) {
      throw new TooManySchemas(`has more than ${mostSchemas} schemas in its arguments`)
    }
    // Remove `$id`: it would change the base of the references.
    const { $ref, $id: _id, $schema: _dialect, ...rest } = this.#brief(written, level)
    if (typeof $ref === 'string') {
      const target = valueAt(this.#root, $ref)
      if (level >= levels && hasSchemas(target)) return this.#cutSchema(target, written)
      return {
        ...(this.#isOld ? {} : this.#read(rest, level)), $ref: `#/$defs/${this.#define($ref, target, level)}`,
      }
    }
    if (level >= levels && hasSchemas(rest)) return this.#cutSchema(rest, written)
    const below = mapSubschemas(withoutReadOnly(rest), ({ keyword, schema }) => isJsonObject(schema)
      ? this.#read(schema, keywordTarget(keyword) === 'members' ? level + 1 : level) : schema)
    return this.#isOld ? modern(below) : below
  }

  #define(reference: string, target: Json, level: number): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const last = reference.split('/').at(-1)!.replaceAll(/[^A-Za-z0-9_]/g, '_').slice(0, 48)
    let name = last
    for (let count = 2; this.#definitions.has(name); count++) name = `${last}_${count}`
    this.#names.set(reference, name)
    // Reserve the name first: the schema may refer to itself.
    this.#definitions.set(name, true)
    this.#pending.push({ name, target, level })
    return name
  }

  #brief(schema: JsonObject, level: number): JsonObject {
    const { descriptionChars } = this.#detail
    const { description } = schema
    if (level === 0 || typeof description !== 'string' || description.length <= descriptionChars) return schema
    this.#isCut = true
    return { ...schema, description: cut(description, descriptionChars) }
  }

  #cutSchema(target: Json, written: JsonObject): JsonObject {
    this.#isCut = true
    const { type, nullable, description }: JsonObject = isJsonObject(target) ? target : {}
    const text = textOf(written['description']) ?? textOf(description)
    const about = text === undefined ? '' : `${cut(text, CUT_CHARS)} `
    return {
      ...(typeof type === 'string' && nullable !== true && { type }), description: `${about}${CUT_NOTE}`,
    }
  }
}

/** Whether a schema contains or refers to other schemas, so that cutting it makes it smaller. */
const hasSchemas = (schema: Json): boolean => isJsonObject(schema)
  && (typeof schema['$ref'] === 'string' || subschemasOf(schema).some((below) => isJsonObject(below.schema)))

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
function modern({ nullable, ...schema }: JsonObject): JsonObject {
  const bounded = withNumberBounds(schema)
  return nullable === true ? orNull(bounded) : bounded
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  const needsNull = Array.isArray(values) && !values.includes(null)
  return { ...schema, type: [type, 'null'], ...(needsNull && { enum: [...values, null] }) }
}
