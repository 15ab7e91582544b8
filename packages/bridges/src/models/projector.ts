import { isJsonObject, pointerStep, targetOf, type Json, type JsonObject } from '@bulkhead/kit/json'
import { hasOwnType, isOfType, propertiesOf, typesOf } from '@bulkhead/kit/schema'
import type { SchemaRule } from './profiles.ts'
import { allowsNull, definitionName, isIdle, TYPE_KEYWORDS, withoutAllOf } from './schema-parts.ts'

/** A schema that its receiver may change. */
export interface MutableSchema {
  type: 'object'
  [keyword: string]: unknown
}

/** Something that the sent schema does not express. */
export interface Loss {
  /** JSON Pointer into the full schema. */
  readonly pointer: string
  readonly message: string
}

/** The schema cannot be strict. */
export class Unfit extends Error {}

type Draft = Record<string, Json>

const MAX_DEPTH = 64
const MAX_SCHEMAS = 20_000
const MAX_NOTE_CHARS = 200
/** Look-arounds, back references and named groups are not regular. */
const IRREGULAR = /\(\?[^:]|\\[1-9]|\\k/

const OTHERS = [
  '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveAnchor', '$recursiveRef', 'additionalItems', 'allOf',
  'contains', 'contentSchema', 'dependencies', 'dependentRequired', 'dependentSchemas', 'else', 'if', 'maxContains',
  'minContains', 'not', 'patternProperties', 'prefixItems', 'propertyNames', 'then', 'unevaluatedItems',
]

/** Writes a schema in the form of one provider. Every visit returns a new object. */
export class Projector {
  readonly losses: Loss[] = []
  readonly #full: JsonObject
  readonly #rule: SchemaRule
  readonly #definitions = new Map<string, Draft>()
  /** The positions of the definitions. */
  readonly #places = new Map<string, string>()
  /** Definitions whose projection has begun and not ended. */
  readonly #open = new Set<string>()
  #schemas = 0

  constructor(full: JsonObject, rule: SchemaRule) {
    this.#full = full
    this.#rule = rule
  }

  root(): MutableSchema {
    const { type = 'object', $id: _, ...rest } = this.#full
    if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) {
      throw new Unfit('the root does not describe an object')
    }
    this.#open.add('')
    const projected = this.#visit({ ...rest, type: 'object' }, '', 0)
    if (projected['type'] !== 'object') this.#cannot('', 'has alternatives at the root')
    const $defs = Object.fromEntries(this.#definitions)
    return { ...projected, type: 'object', ...(this.#definitions.size > 0 && { $defs }) }
  }

  /** In a strict profile ends the projection; otherwise only notes what is lost. */
  #cannot(pointer: string, message: string): void {
    if (this.#rule.strict) throw new Unfit(`${pointer === '' ? 'the root' : `"${pointer}"`} ${message}`)
    this.losses.push({ pointer, message })
  }

  #visit(schema: Json, pointer: string, depth: number): Draft {
    if (depth > MAX_DEPTH || ++this.#schemas > MAX_SCHEMAS) throw new Unfit('the schema is too large')
    if (!isJsonObject(schema)) {
      this.#cannot(pointer, `accepts ${schema === false ? 'no' : 'any'} value`)
      return {}
    }
    const flat = withoutAllOf(schema)
    if (flat === undefined) this.#cannot(pointer, 'has "allOf" with parts that cannot be merged')
    const part = flat ?? schema
    for (const keyword of OTHERS) {
      if (keyword in part && !this.#rule.keywords.has(keyword)) this.#cannot(pointer, `has "${keyword}"`)
    }
    if ('$id' in part) this.#cannot(pointer, 'has an "$id"')
    if ('$ref' in part) return this.#reference(part, pointer, depth)
    const branches = part['anyOf'] ?? part['oneOf']
    if (Array.isArray(branches)) return this.#union(part, branches as readonly Json[], pointer, depth)
    return this.#typed(part, pointer, depth)
  }

  #reference(schema: JsonObject, pointer: string, depth: number): Draft {
    if (Object.keys(schema).some((keyword) => keyword !== '$ref' && !isIdle(keyword))) {
      this.#cannot(pointer, 'has other keywords beside "$ref"')
    }
    const name = definitionName(schema['$ref'])
    const target = name === undefined ? undefined : targetOf(this.#full, schema['$ref'] as string)
    if (name === undefined || target === undefined) {
      this.#cannot(pointer, 'refers to a schema that is not in "$defs"')
      return {}
    }
    const at = decodeURIComponent(schema['$ref'] as string).slice(1)
    const known = this.#places.get(name)
    this.#places.set(name, at)
    if (known !== undefined && known !== at) this.#cannot(pointer, 'refers to one of two definitions of the same name')
    if (this.#open.has(name) && this.#rule.references !== 'recursive') this.#cannot(pointer, 'refers to itself')
    if (this.#rule.references === 'none') {
      this.#open.add(name)
      const inlined = this.#visit(target, at, depth + 1)
      this.#open.delete(name)
      return described(inlined, schema, [])
    }
    if (name !== '' && !this.#definitions.has(name) && !this.#open.has(name)) {
      this.#open.add(name)
      this.#definitions.set(name, this.#visit(target, at, depth + 1))
      this.#open.delete(name)
    }
    const reference = { $ref: name === '' ? '#' : `#/$defs/${encodeURIComponent(pointerStep(name).slice(1))}` }
    // Providers reject keywords beside a reference.
    return 'description' in schema || 'title' in schema ? described({ anyOf: [reference] }, schema, []) : reference
  }

  #union(schema: JsonObject, branches: readonly Json[], pointer: string, depth: number): Draft {
    const { type } = schema
    const others = Object.keys(schema).filter((keyword) =>
      keyword !== 'anyOf' && keyword !== 'oneOf' && keyword !== 'type' && !isIdle(keyword))
    if (others.length > 0) this.#cannot(pointer, `has "${others[0]!}" beside alternatives`)
    if ('oneOf' in schema) {
      if ('anyOf' in schema) this.#cannot(pointer, 'has both "anyOf" and "oneOf"')
      this.losses.push({ pointer: `${pointer}/oneOf`, message: 'more than one alternative may match' })
    }
    const keyword = 'anyOf' in schema ? 'anyOf' : 'oneOf'
    const anyOf = branches.map((branch, index) => {
      const typed = type !== undefined && isJsonObject(branch) && !hasOwnType(branch) ? { ...branch, type } : branch
      return this.#visit(typed, `${pointer}/${keyword}/${index}`, depth + 1)
    })
    return described({ anyOf }, schema, this.#notes(schema, ['default', 'examples'], pointer))
  }

  #typed(schema: JsonObject, pointer: string, depth: number): Draft {
    const types = typesOf(schema)
    if (types.length === 0) {
      this.#cannot(pointer, 'accepts any value')
      return described({}, schema, [])
    }
    if (types.length === 1) return this.#ofType(types[0]!, schema, pointer, depth)
    const { description: _, title: __, default: ___, examples: ____, ...rest } = schema
    const anyOf = types.map((type) => this.#ofType(type, rest, pointer, depth))
    return described({ anyOf }, schema, this.#notes(schema, ['default', 'examples'], pointer))
  }

  #ofType(type: string, schema: JsonObject, pointer: string, depth: number): Draft {
    const draft: Draft = { type, ...this.#literals(type, schema, pointer) }
    const unsaid: string[] = ['default', 'examples']
    for (const keyword of TYPE_KEYWORDS[type]!) {
      const value = schema[keyword]
      if (value === undefined) continue
      if (this.#enforces(keyword, value)) draft[keyword] = structuredClone(value)
      else unsaid.push(keyword)
    }
    if (type === 'object') Object.assign(draft, this.#object(schema, pointer, depth))
    if (type === 'array') Object.assign(draft, this.#array(schema, pointer, depth))
    return described(draft, schema, this.#notes(schema, unsaid, pointer))
  }

  #enforces(keyword: string, value: Json): boolean {
    if (!this.#rule.keywords.has(keyword)) return false
    if (keyword === 'format') return typeof value === 'string' && this.#rule.formats.has(value)
    if (keyword === 'minItems') return typeof value === 'number' && value <= this.#rule.maxMinItems
    return keyword !== 'pattern' || (typeof value === 'string' && !IRREGULAR.test(value))
  }

  #literals(type: string, schema: JsonObject, pointer: string): Draft {
    const { const: constant, enum: allowed } = schema
    if (constant === undefined && !Array.isArray(allowed)) return {}
    const values = constant === undefined ? allowed as readonly Json[] : [constant]
    if (values.some((value) => typeof value === 'object' && value !== null)) {
      this.#cannot(pointer, 'has an object or a list as a fixed value')
      return {}
    }
    const own = [...new Set(values)].filter((value) => isOfType(value, type))
    if (own.length === 0) this.#cannot(pointer, 'accepts no value')
    return own.length === 1 && this.#rule.keywords.has('const') ? { const: own[0]! } : { enum: own }
  }

  #array({ items, prefixItems }: JsonObject, pointer: string, depth: number): Draft {
    const isTuple = Array.isArray(prefixItems) && this.#rule.keywords.has('prefixItems')
    if (!isTuple && (items === undefined || Array.isArray(items))) {
      this.#cannot(pointer, 'is a list without a schema for its items')
      return {}
    }
    return {
      ...(isTuple && {
        prefixItems: prefixItems.map((item: Json, index) =>
          this.#visit(item, `${pointer}/prefixItems/${index}`, depth + 1)),
      }),
      ...(items !== undefined && { items: this.#visit(items, `${pointer}/items`, depth + 1) }),
    }
  }

  #object(schema: JsonObject, pointer: string, depth: number): Draft {
    const { additionalProperties: more, unevaluatedProperties, required } = schema
    const properties = propertiesOf(schema)
    const needed = new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [])
    const names = Object.keys(properties)
    const below = Object.fromEntries(names.map((name) => {
      const at = `${pointer}/properties${pointerStep(name)}`
      const projected = this.#visit(properties[name]!, at, depth + 1)
      const isOptional = this.#rule.allRequired && !needed.has(name)
      return [name, isOptional ? this.#nullable(properties[name]!, at, projected) : projected]
    }))
    if (!this.#rule.strict) {
      const rest = isJsonObject(more) ? this.#visit(more, `${pointer}/additionalProperties`, depth + 1) : more
      return {
        ...(names.length > 0 && { properties: below }), ...(needed.size > 0 && { required: [...needed] }),
        ...(rest !== undefined && { additionalProperties: rest }),
      }
    }
    const isClosed = more === false || unevaluatedProperties === false
    if (!isClosed && (more !== undefined || unevaluatedProperties !== undefined || names.length === 0)) {
      this.#cannot(pointer, 'accepts members of any name')
    }
    if (names.length === 0 && pointer !== '' && !this.#rule.emptyObjects) this.#cannot(pointer, 'has no properties')
    const unlisted = [...needed].find((name) => !Object.hasOwn(properties, name))
    if (unlisted !== undefined) this.#cannot(pointer, `requires "${unlisted}", which it does not describe`)
    if (!isClosed) this.losses.push({ pointer, message: 'members that are not listed cannot be sent' })
    const all = this.#rule.allRequired ? names : names.filter((name) => needed.has(name))
    return { properties: below, required: all, additionalProperties: false }
  }

  #nullable(full: Json, pointer: string, projected: Draft): Draft {
    if (allowsNull(full, this.#full)) {
      this.losses.push({ pointer, message: 'cannot be left out, only null' })
      return projected
    }
    const isUnion = Object.keys(projected).every((keyword) => ['anyOf', 'description', 'title'].includes(keyword))
    return isUnion
      ? { ...projected, anyOf: [...projected['anyOf'] as Json[], { type: 'null' }] }
      : { anyOf: [projected, { type: 'null' }] }
  }

  /** What the description has to say, because the provider does not enforce it. */
  #notes(schema: JsonObject, keywords: readonly string[], pointer: string): readonly string[] {
    return keywords.filter((keyword) => schema[keyword] !== undefined).flatMap((keyword) => {
      if (!isIdle(keyword)) {
        this.losses.push({ pointer: `${pointer}/${keyword}`, message: 'is described, not enforced' })
      }
      const text = `${keyword}: ${JSON.stringify(schema[keyword])}`
      return text.length <= MAX_NOTE_CHARS ? [text] : []
    })
  }
}

/** With the title and description of a schema, and notes at the end of the description. */
function described(draft: Draft, { title, description }: JsonObject, notes: readonly string[]): Draft {
  const note = notes.length === 0 ? [] : [`(${notes.join(', ')})`]
  const text = [...(typeof description === 'string' ? [description] : []), ...note].join(' ')
  return { ...(typeof title === 'string' && { title }), ...(text !== '' && { description: text }), ...draft }
}
