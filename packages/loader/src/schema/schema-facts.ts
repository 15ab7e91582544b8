import { MANIFEST_LIMITS } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import { keywordType, patternEngine, readSchema, type LinearPattern, type SchemaDocument } from '@bulkhead/kit/schema'
import { RE2JS } from 're2js'

/** A schema and its position. */
export interface Place {
  readonly document: SchemaDocument
  readonly schema: Json
  /** JSON Pointer from the root of the document. */
  readonly path: string
}

/** The own keywords of one schema, as in 2020-12. A value must satisfy all parts of a schema. */
export interface Part extends Place {
  readonly keywords: JsonObject
  /** Equal for equal parts only. */
  readonly id: string
}

const engine = patternEngine(RE2JS, MANIFEST_LIMITS.patternChars)
const compiled = new Map<string, LinearPattern | undefined>()

/** undefined if the pattern cannot run, so that the result is unknown. */
export function matches(pattern: string, text: string): boolean | undefined {
  if (!compiled.has(pattern)) compiled.set(pattern, engine.compile(pattern))
  return compiled.get(pattern)?.test(text)
}

/** undefined for an invalid schema, and for one with references whose target depends on the way that leads to them. */
export function rootPlace(schema: JsonObject): Place | undefined {
  const reading = readSchema(schema)
  const isPlain = reading.ok && reading.document.references?.open.size === 0
  return isPlain ? { document: reading.document, schema, path: '' } : undefined
}

/** The schema below a keyword of a part. */
export function below({ document, path, keywords }: Part, keyword: string, ...steps: (string | number)[]): Place {
  const schema = steps.reduce<Json>((value, step) => (value as JsonObject)[step]!, keywords[keyword]!)
  const place = path + [keyword, ...steps].map(pointerStep).join('')
  // Keywords of draft-07 were translated, so the position in the file may differ.
  return { document, schema, path: pathIn(document, schema) ?? place }
}

const pathIn = ({ tree }: SchemaDocument, schema: Json): string | undefined => tree?.of(schema as JsonObject)?.path

const partOf = (place: Place, keywords: JsonObject): Part =>
  ({ ...place, keywords, id: `${documentId(place.document)}${place.path}` })

const ids = new WeakMap<SchemaDocument, number>()
let lastId = 0
function documentId(document: SchemaDocument): number {
  const id = ids.get(document) ?? ++lastId
  ids.set(document, id)
  return id
}

/** A part that adds one keyword, for a value that is known to satisfy it. */
export const assumed = (of: Place, keyword: string, value: Json): Part =>
  ({ ...of, schema: { [keyword]: value }, keywords: { [keyword]: value }, id: `${keyword}:${canonicalJson(value)}` })

/** The same part without a keyword. */
export const without = (part: Part, keyword: string): Part => {
  const { [keyword]: _, ...keywords } = part.keywords
  return { ...part, keywords, id: `${part.id}-${keyword}` }
}

/** The parts of a schema: itself, the targets of its references, and `allOf`. */
export function partsOf(place: Place): readonly Part[] {
  const { document, schema } = place
  if (!isJsonObject(schema)) return schema === false ? [partOf(place, { enum: [] })] : []
  const { tree, references } = document
  const partsAt = (target: JsonObject | boolean | undefined): readonly Part[] => target === undefined
    ? [] : partsOf({ document, schema: target, path: pathIn(document, target) ?? place.path })
  const target = references?.targets.get(schema)
  const own = partOf(place, tree?.of(schema)?.keywords ?? schema)
  // A reference of draft-07 has no other keywords.
  const isReference = target !== undefined && Object.keys(own.keywords).length === 0
  const all = own.keywords['allOf'] as readonly Json[] | undefined ?? []
  return [
    ...isReference ? [] : [own], ...partsAt(target), ...partsAt(references?.dynamicTargets.get(schema)),
    ...all.flatMap((_, index) => partsOf(below(own, 'allOf', index))),
  ]
}

/** As in JSON Schema, except that `number` does not include integers. */
export type ValueType = 'null' | 'boolean' | 'object' | 'array' | 'string' | 'integer' | 'number'

export const typeOf = (value: Json): ValueType => {
  if (value === null) return 'null'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return Array.isArray(value) ? 'array' : typeof value as ValueType
}

const ANY_TYPE: ReadonlySet<ValueType> = new Set(['null', 'boolean', 'object', 'array', 'string', 'integer', 'number'])

export const namedTypes = (type: Json): ReadonlySet<ValueType> => {
  const names = (Array.isArray(type) ? type : [type]) as readonly ValueType[]
  return new Set(names.includes('number') ? [...names, 'integer'] : names)
}

/** Whether a keyword is about values of one of the types. */
export function isAbout(keyword: string, types: ReadonlySet<ValueType>): boolean {
  const type = keywordType(keyword)
  return type === undefined || types.has(type) || (type === 'number' && types.has('integer'))
}

const membersOf = ({ keywords }: Part, keyword: string): readonly string[] =>
  Object.keys(keywords[keyword] as JsonObject | undefined ?? {})

/** What is known about every value that satisfies some parts. Never claims too much. */
export class Facts {
  readonly parts: readonly Part[]
  readonly types: ReadonlySet<ValueType>
  /** All possible values, if `enum` or `const` lists them. */
  readonly values: readonly Json[] | undefined

  constructor(parts: readonly Part[]) {
    this.parts = parts
    const types = this.settings('type').reduce((left, type) => left.intersection(namedTypes(type)), ANY_TYPE)
    const lists = parts.flatMap(({ keywords: { enum: list, const: one } }) =>
      [...(list === undefined ? [] : [list as readonly Json[]]), ...(one === undefined ? [] : [[one]])])
    const texts = lists.map((list) => new Set(list.map(canonicalJson)))
    this.values = lists[0]?.filter((value) =>
      types.has(typeOf(value)) && texts.every((list) => list.has(canonicalJson(value))))
    this.types = this.values === undefined ? types : new Set(this.values.map(typeOf))
  }

  /** No value satisfies the parts. */
  get impossible(): boolean {
    return this.types.size === 0
  }

  having(keyword: string): readonly Part[] {
    return this.parts.filter(({ keywords }) => keywords[keyword] !== undefined)
  }

  settings(keyword: string): readonly Json[] {
    return this.having(keyword).map(({ keywords }) => keywords[keyword]!)
  }

  numbers(keyword: string): readonly number[] {
    return this.settings(keyword) as readonly number[]
  }

  get required(): ReadonlySet<string> {
    return new Set(this.settings('required').flat() as string[])
  }

  /** Properties with a schema of their own, and where the first is. */
  get declared(): ReadonlyMap<string, Place> {
    return new Map(this.parts.flatMap((part) =>
      membersOf(part, 'properties').map((name) => [name, below(part, 'properties', name)] as const)).toReversed())
  }

  get patterns(): ReadonlySet<string> {
    return new Set(this.parts.flatMap((part) => membersOf(part, 'patternProperties')))
  }

  property(name: string): Facts {
    return new Facts(this.parts.flatMap((part) => {
      const own = membersOf(part, 'properties').includes(name) ? [below(part, 'properties', name)] : []
      const known = membersOf(part, 'patternProperties').map((pattern) => [pattern, matches(pattern, name)] as const)
      const matching = known.filter(([, isMatch]) => isMatch)
        .map(([pattern]) => below(part, 'patternProperties', pattern))
      const isListed = own.length + matching.length > 0 || known.some(([, isMatch]) => isMatch === undefined)
      return [...own, ...matching, ...(isListed ? [] : this.#rest(part, 'additionalProperties'))].flatMap(partsOf)
    }))
  }

  /** Properties that are not declared and whose names match a pattern. */
  matching(pattern: string): Facts {
    return new Facts(this.parts.flatMap((part) => {
      const patterns = membersOf(part, 'patternProperties')
      if (patterns.includes(pattern)) return partsOf(below(part, 'patternProperties', pattern))
      // A name may match another pattern of the part too.
      return patterns.length > 0 ? [] : this.#rest(part, 'additionalProperties').flatMap(partsOf)
    }))
  }

  /** Properties that are neither declared nor match a pattern. */
  get otherProperties(): Facts {
    return new Facts(this.parts.flatMap((part) => this.#rest(part, 'additionalProperties').flatMap(partsOf)))
  }

  get prefixLength(): number {
    return Math.max(0, ...this.settings('prefixItems').map((list) => (list as readonly Json[]).length))
  }

  /** Items from `maxItems` on do not exist. */
  get maxItems(): number {
    return Math.min(Infinity, ...this.numbers('maxItems'))
  }

  item(index: number): Facts {
    return new Facts(this.parts.flatMap((part) => {
      const prefix = part.keywords['prefixItems'] as readonly Json[] | undefined ?? []
      const places = index < prefix.length ? [below(part, 'prefixItems', index)] : this.#rest(part, 'items')
      return places.flatMap(partsOf)
    }))
  }

  #rest(part: Part, keyword: string): readonly Place[] {
    return part.keywords[keyword] === undefined ? [] : [below(part, keyword)]
  }
}
