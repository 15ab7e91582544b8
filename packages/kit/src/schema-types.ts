import { isJsonObject, targetOf, type Json, type JsonObject } from './json.ts'
import { visibleText } from './text.ts'

/** Deeper schemas become `any`. */
const MAX_DEPTH = 12
/** Longer lists of values become their type. */
const MAX_VALUES = 40
const COMMENT_CHARS = 300
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

/** The TypeScript type of a JSON Schema, and the types that it refers to. */
export interface SchemaType {
  readonly type: string
  /** Declarations such as `type read_Node = …`, one for each reference. */
  readonly declarations: readonly string[]
}

/**
 * Describes the values of a JSON Schema as TypeScript. `prefix`, an identifier, begins the names of its declarations.
 * What TypeScript cannot express is left out, so the type may admit more than the schema. Never throws, and the text is
 * valid whatever the schema contains.
 */
export function typeOfSchema(schema: Json, prefix: string): SchemaType {
  const writer = new TypeWriter(schema, prefix)
  const type = writer.typeOf(schema, 0)
  return { type, declarations: [...writer.declarations.values()] }
}

/** A comment on a line of its own, or nothing. Longer text is cut. */
export function commentOf(description: unknown, indent: string, chars = COMMENT_CHARS): string {
  if (typeof description !== 'string') return ''
  const line = visibleText(description.slice(0, chars).toWellFormed().replaceAll(/\s+/g, ' ').trim())
  if (line === '') return ''
  const cut = description.length > chars ? '…' : ''
  return `${indent}/** ${line.replaceAll('*/', '*\\/')}${cut} */\n`
}

/** A name as a member of a type. */
export const memberName = (name: string): string => IDENTIFIER.test(name) ? name : JSON.stringify(name)

class TypeWriter {
  /** By name, in the order of their first use. */
  readonly declarations = new Map<string, string>()
  readonly #root: Json
  readonly #prefix: string
  readonly #names = new Map<string, string>()

  constructor(root: Json, prefix: string) {
    this.#root = root
    this.#prefix = prefix
  }

  typeOf(schema: Json | undefined, depth: number): string {
    if (schema === false) return 'never'
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return 'any'
    const parts = [
      ...this.#reference(schema['$ref']),
      ...this.#own(schema, depth),
      ...this.#alternatives(schema, depth),
      ...listOf(schema['allOf']).map((part) => this.typeOf(part, depth + 1)),
    ].filter((part) => part !== 'any')
    return parts.length === 0 ? 'any' : joined(parts, ' & ')
  }

  #reference(ref: Json | undefined): readonly string[] {
    if (typeof ref !== 'string') return []
    const known = this.#names.get(ref)
    if (known !== undefined) return [known]
    const target = targetOf(this.#root, ref)
    if (target === undefined) return []
    const name = this.#nameFor(ref)
    this.#names.set(ref, name)
    this.declarations.set(name, '')
    this.declarations.set(name, `type ${name} = ${this.typeOf(target, 0)}`)
    return [name]
  }

  #nameFor(ref: string): string {
    const last = ref.split('/').at(-1)!.replaceAll(/\W/g, '_')
    const name = `${this.#prefix}_${last === '_' || last === '' ? 'Root' : last}`
    let unique = name
    for (let number = 2; this.declarations.has(unique); number++) unique = `${name}${number}`
    return unique
  }

  #own(schema: JsonObject, depth: number): readonly string[] {
    if (schema['const'] !== undefined) return [literal(schema['const'])]
    const { enum: values, type } = schema
    if (Array.isArray(values) && values.length > 0 && values.length <= MAX_VALUES) {
      return [joined([...new Set(values.map((value: Json) => literal(value)))], ' | ')]
    }
    if (typeof type === 'string') return [this.#named(type, schema, depth)]
    if (Array.isArray(type) && type.length > 0) {
      return [joined(type.map((each: Json) => this.#named(each, schema, depth)), ' | ')]
    }
    if (isJsonObject(schema['properties'])) return [this.#object(schema, depth)]
    return schema['items'] === undefined && schema['prefixItems'] === undefined ? [] : [this.#array(schema, depth)]
  }

  #named(type: Json, schema: JsonObject, depth: number): string {
    switch (type) {
      case 'string': return 'string'
      case 'number':
      case 'integer': return 'number'
      case 'boolean': return 'boolean'
      case 'null': return 'null'
      case 'array': return this.#array(schema, depth)
      case 'object': return this.#object(schema, depth)
      default: return 'any'
    }
  }

  #alternatives(schema: JsonObject, depth: number): readonly string[] {
    return ['anyOf', 'oneOf'].flatMap((keyword) => {
      const parts = listOf(schema[keyword]).map((part) => this.typeOf(part, depth + 1))
      return parts.length === 0 || parts.includes('any') ? [] : [joined([...new Set(parts)], ' | ')]
    })
  }

  #array({ items, prefixItems }: JsonObject, depth: number): string {
    const first = listOf(prefixItems).map((item) => this.typeOf(item, depth + 1))
    const rest = Array.isArray(items) ? 'any' : this.typeOf(items, depth + 1)
    if (first.length > 0) return `[${[...first, ...(rest === 'never' ? [] : [`...${element(rest)}[]`])].join(', ')}]`
    return `${element(rest)}[]`
  }

  #object({ properties, required, additionalProperties }: JsonObject, depth: number): string {
    const members = isJsonObject(properties) ? Object.entries(properties) : []
    const others = additionalProperties === undefined ? 'any' : this.typeOf(additionalProperties, depth + 1)
    if (members.length === 0) return others === 'never' ? '{}' : `Record<string, ${others}>`
    const needed = new Set(listOf(required))
    const indent = '  '.repeat(depth + 1)
    const lines = members.map(([name, member]) => {
      const comment = commentOf(isJsonObject(member) ? member['description'] : undefined, indent)
      const mark = needed.has(name) ? '' : '?'
      return `${comment}${indent}${memberName(name)}${mark}: ${this.typeOf(member, depth + 1)}\n`
    })
    const open = additionalProperties === undefined || others === 'never' ? '' : `${indent}[key: string]: any\n`
    return `{\n${lines.join('')}${open}${'  '.repeat(depth)}}`
  }
}

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value : []

function joined(parts: readonly string[], by: ' | ' | ' & '): string {
  if (parts.length === 1) return parts[0]!
  return parts.map((part) => ONE.test(part) ? part : `(${part})`).join(by)
}

/** Needs no parentheses. */
const ONE = /^(?:[\w$]+|"[^"]*")$/
const element = (type: string): string => ONE.test(type) ? type : `(${type})`

/** Objects and lists as values are rare, and their types would be long. */
function literal(value: Json): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'any[]' : 'Record<string, any>'
  return JSON.stringify(value)
}
