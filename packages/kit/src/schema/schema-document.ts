import { canonicalJson, isJsonObject, pointerStep, type Json, type JsonObject } from '../json.ts'
import { closeNames, visibleText } from '../text.ts'
import { appliesInPlace, keywordFault, schemaKeywordForm, schemaKeywords, UNEVALUATED } from './keywords.ts'
import { SchemaTree, resolveReferences, type SchemaNode, type SchemaFault, type References } from './schema-tree.ts'

/** The largest schema that is accepted. */
export interface SchemaLimits {
  readonly schemaChars: number
  readonly schemaDepth: number
  readonly subschemas: number
  readonly patternChars: number
  /** Subschemas that apply to one value, references included. */
  readonly inPlaceSubschemas: number
}

export interface SchemaTerms {
  /** Default: none. A schema that applies itself to the same value is always rejected. */
  readonly limits?: SchemaLimits
  /** Why a pattern cannot be used. Default: all patterns are accepted, and unsupported ones are ignored. */
  readonly patternFault?: (source: string) => string | undefined
}

/** A valid schema: every keyword has a valid value, and every reference a target. */
export interface SchemaDocument {
  readonly root: Json
  readonly tree: SchemaTree | undefined
  readonly references: References | undefined
  readonly subschemas: number
  /** Unknown keywords without the prefix "x-": possible mistakes. */
  readonly unknownKeywords: readonly SchemaFault[]
}

export type SchemaReading =
  | { readonly ok: true; readonly document: SchemaDocument }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const NO_LIMITS: SchemaLimits = {
  schemaChars: Infinity, schemaDepth: Infinity, subschemas: Infinity, patternChars: Infinity,
  inPlaceSubschemas: Number.MAX_VALUE,
}

/**
 * Checks a schema of JSON Schema 2020-12 or draft-07: its size, its references and its keywords. Unknown keywords are
 * ignored, as the standard requires. Contract: compiles nothing.
 */
export function readSchema(schema: Json, { limits = NO_LIMITS, patternFault }: SchemaTerms = {}): SchemaReading {
  if (typeof schema === 'boolean') {
    const document = { root: schema, tree: undefined, references: undefined, subschemas: 1, unknownKeywords: [] }
    return { ok: true, document }
  }
  if (!isJsonObject(schema)) return refuse('', 'must be object,boolean')
  const chars = limits.schemaChars === Infinity ? 0 : canonicalJson(schema).length
  if (chars > limits.schemaChars) return refuse('', `has ${chars} characters; ${limits.schemaChars} are allowed`)

  const tree = new SchemaTree(schema)
  for (let index = 0; index < tree.all.length; index++) {
    const node = tree.all[index]!
    if (node.depth > limits.schemaDepth) return refuse(node.path, `is nested more than ${limits.schemaDepth} deep`)
    tree.addChildren(node)
    if (tree.all.length > limits.subschemas) return refuse('', `has more than ${limits.subschemas} subschemas`)
  }
  const references = resolveReferences(tree)
  const faults = [
    ...tree.faults, ...references.faults,
    ...tree.all.flatMap((node) => [...keywordFaults(node), ...patternFaults(node, limits, patternFault)]),
  ]
  if (faults.length > 0) return { ok: false, faults: faults as [SchemaFault, ...SchemaFault[]] }
  if (costPerValue(tree, references) > limits.inPlaceSubschemas) return refuse('', tooManyInPlace(limits))
  const document = {
    root: schema, tree, references, subschemas: tree.all.length,
    unknownKeywords: tree.all.flatMap(findUnknownKeywords),
  }
  return { ok: true, document }
}

const refuse = (path: string, message: string): SchemaReading => ({ ok: false, faults: [{ path, message }] })

const tooManyInPlace = ({ inPlaceSubschemas: most }: SchemaLimits): string => most === NO_LIMITS.inPlaceSubschemas
  ? 'refers to itself without end'
  : `applies more than ${most} subschemas to one value, or refers to itself without end`

function findUnknownKeywords({ schema, path, resource: { dialect } }: SchemaNode): SchemaFault[] {
  const names = Object.keys(schema)
    .filter((keyword) => schemaKeywordForm(keyword, dialect) === undefined && !keyword.startsWith('x-'))
  return names.map((name) => {
    const meant = closeNames(name, schemaKeywords(dialect))[0]
    const advice = meant === undefined ? '' : `; perhaps it is "${meant}"`
    const message = `has the keyword "${visibleText(name)}", which JSON Schema does not define and ignores${advice}`
    return { path: path + pointerStep(name), message }
  })
}

function keywordFaults({ schema, path, resource: { dialect } }: SchemaNode): SchemaFault[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const message = keywordFault(keyword, value, dialect)
    return message === undefined ? [] : [{ path: path + pointerStep(keyword), message }]
  })
}

function patternFaults(
  { schema, path }: SchemaNode, { patternChars }: SchemaLimits, findFault: SchemaTerms['patternFault'],
): SchemaFault[] {
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

/**
 * The largest number of schemas that apply to one value, references included; Infinity for a schema that applies
 * itself. Twenty small definitions that each refer twice to the next one make a million, which would block the host.
 */
function costPerValue(tree: SchemaTree, { targets, dynamicTargets }: References): number {
  const costs = new Map<JsonObject, number>()
  const open = new Set<JsonObject>()

  const costOf = (schema: JsonObject): number => {
    const known = costs.get(schema)
    if (known !== undefined) return known
    if (open.has(schema)) return Infinity
    open.add(schema)
    const once = appliedWith(schema).reduce((sum: number, other) => isJsonObject(other) ? sum + costOf(other) : sum, 1)
    // Finding the evaluated members takes a second pass over the same schemas.
    const cost = UNEVALUATED.some((keyword) => keyword in schema) ? 2 * once : once
    open.delete(schema)
    costs.set(schema, cost)
    return cost
  }

  const appliedWith = (schema: JsonObject): readonly (Json | undefined)[] => {
    const { dialect } = tree.of(schema)!.resource
    const target = targets.get(schema)
    // In draft-07 keywords beside a reference are ignored.
    if (target !== undefined && dialect === 'draft-07') return [target]
    const below = Object.entries(schema).filter(([keyword]) => appliesInPlace(keyword)).flatMap(([keyword, value]) => {
      const form = schemaKeywordForm(keyword, dialect)
      if (form === 'map' && isJsonObject(value)) return Object.values(value)
      if (form === 'list' && Array.isArray(value)) return value as readonly Json[]
      return form === 'subschema' ? [value] : []
    })
    return [...below, target, dynamicTargets.get(schema)]
  }

  return tree.all.reduce((highest, { schema }) => Math.max(highest, costOf(schema)), 0)
}
