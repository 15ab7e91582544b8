import { canonicalJson, isJsonObject, pointerStep, type Json } from '../json.ts'
import { closeNames } from '../text.ts'
import { visibleText } from '../text.ts'
import { inPlaceCost } from './in-place-cost.ts'
import { keywordFaults } from './keyword-values.ts'
import { schemaKeywordForm, schemaKeywords } from './keywords.ts'
import { Places, type Place, type SchemaFault } from './schema-tree.ts'
import { resolveReferences, type References } from './references.ts'

/** How large a schema may be. */
export interface SchemaLimits {
  readonly schemaChars: number
  readonly schemaDepth: number
  readonly subschemas: number
  readonly patternChars: number
  /** Subschemas that apply to one value once references are followed. */
  readonly inPlaceSubschemas: number
}

export interface SchemaTerms {
  /** Default: none. A schema that refers to itself in place is refused in any case. */
  readonly limits?: SchemaLimits
  /** Why a pattern cannot be used. Default: none is refused, and one that cannot run is not run. */
  readonly patternFault?: (source: string) => string | undefined
}

/** A schema that was reviewed: every keyword has a value it takes, and every reference a target. */
export interface SchemaDocument {
  readonly root: Json
  readonly places: Places | undefined
  readonly references: References | undefined
  readonly subschemas: number
  /** Keywords that the dialect does not have, unless their names begin with "x-": perhaps slips. */
  readonly unknownKeywords: readonly SchemaFault[]
}

export type SchemaReading =
  | { readonly ok: true; readonly document: SchemaDocument }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const NO_LIMITS: SchemaLimits = {
  schemaChars: Infinity, schemaDepth: Infinity, subschemas: Infinity, patternChars: Infinity, inPlaceSubschemas: Number.MAX_VALUE,
}

/**
 * Reviews a schema of JSON Schema 2020-12 or draft-07: within limits, closed in itself, and valid by its dialect. Keywords that the
 * dialect does not have say nothing, as the standard wants it. Contract: compiles nothing.
 */
export function readSchema(schema: Json, { limits = NO_LIMITS, patternFault }: SchemaTerms = {}): SchemaReading {
  if (typeof schema === 'boolean') return { ok: true, document: { root: schema, places: undefined, references: undefined, subschemas: 1, unknownKeywords: [] } }
  if (!isJsonObject(schema)) return refused([{ path: '', message: 'must be object,boolean' }])
  const chars = limits.schemaChars === Infinity ? 0 : canonicalJson(schema).length
  if (chars > limits.schemaChars) return refused([{ path: '', message: `has ${chars} characters; ${limits.schemaChars} are allowed` }])

  const places = new Places(schema)
  for (let index = 0; index < places.all.length; index++) {
    const place = places.all[index]!
    if (place.depth > limits.schemaDepth) return refused([{ path: place.path, message: `is nested more than ${limits.schemaDepth} deep` }])
    places.addChildren(place)
    if (places.all.length > limits.subschemas) return refused([{ path: '', message: `has more than ${limits.subschemas} subschemas` }])
  }
  const references = resolveReferences(places)
  const faults = [
    ...places.faults, ...references.faults,
    ...places.all.flatMap((place) => [...keywordFaults(place), ...patternFaults(place, limits, patternFault)]),
  ]
  if (faults.length > 0) return refused(faults as [SchemaFault, ...SchemaFault[]])
  if (inPlaceCost(places, references) > limits.inPlaceSubschemas) return refused([{ path: '', message: tooManyInPlace(limits) }])
  return { ok: true, document: { root: schema, places, references, subschemas: places.all.length, unknownKeywords: places.all.flatMap(unknownKeywords) } }
}

const refused = (faults: readonly [SchemaFault, ...SchemaFault[]]): SchemaReading => ({ ok: false, faults })

const tooManyInPlace = ({ inPlaceSubschemas: most }: SchemaLimits): string => most === NO_LIMITS.inPlaceSubschemas
  ? 'refers to itself without end' : `applies more than ${most} subschemas to one value, or refers to itself without end`

function unknownKeywords({ schema, path, resource: { dialect } }: Place): SchemaFault[] {
  const names = Object.keys(schema).filter((keyword) => schemaKeywordForm(keyword, dialect) === undefined && !keyword.startsWith('x-'))
  return names.map((name) => {
    const meant = closeNames(name, schemaKeywords(dialect))[0]
    const advice = meant === undefined ? '' : `; perhaps it is "${meant}"`
    return { path: path + pointerStep(name), message: `has the keyword "${visibleText(name)}", which JSON Schema does not know and which says nothing${advice}` }
  })
}

function patternFaults({ schema, path }: Place, { patternChars }: SchemaLimits, findFault: SchemaTerms['patternFault']): SchemaFault[] {
  const { pattern, patternProperties } = schema
  const sources = [
    ...(typeof pattern === 'string' ? [{ at: `${path}/pattern`, source: pattern }] : []),
    ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : [])
      .map((source) => ({ at: `${path}/patternProperties${pointerStep(source)}`, source })),
  ]
  return sources.flatMap(({ at, source }) => {
    const fault = source.length > patternChars ? `it has more than ${patternChars} characters` : findFault?.(source)
    return fault === undefined ? [] : [{ path: at, message: `has a pattern that cannot be used: ${fault}` }]
  })
}
