import { canonicalJson, isJsonObject, pointerStep, type Json } from '../json.ts'
import { closeNames, visibleText } from '../text.ts'
import { SchemaWays, SituatedMap, type Situated } from './dynamic-scope.ts'
import { keywordFault, keywordTarget, schemaKeywordForm, schemaKeywords, UNEVALUATED } from './keywords.ts'
import { SchemaTree, resolveReferences, type SchemaNode, type SchemaFault, type References } from './schema-tree.ts'
import { patternsOf, subschemasOf } from './subschemas.ts'

/** The largest schema that is accepted. */
export interface SchemaLimits {
  readonly schemaChars: number
  readonly schemaDepth: number
  readonly subschemas: number
  /** Subschemas that apply to one value, references included. */
  readonly inPlaceSubschemas: number
}

export interface SchemaTerms {
  /** Default: none. A schema that applies itself to the same value is always rejected. */
  readonly limits?: SchemaLimits
  /** Why a pattern cannot be enforced, for `idlePatterns`. Default: none is looked for. */
  readonly patternFault?: (source: string) => string | undefined
}

/** A valid schema: every keyword has a valid value, and every reference a target. */
export interface SchemaDocument {
  readonly root: Json
  readonly tree: SchemaTree | undefined
  readonly references: References | undefined
  readonly ways: SchemaWays | undefined
  readonly subschemas: number
  /** Unknown keywords without the prefix "x-": possible mistakes. */
  readonly unknownKeywords: readonly SchemaFault[]
  /** Patterns that are not enforced. No pattern makes a schema invalid: it may be written for another validator. */
  readonly idlePatterns: readonly SchemaFault[]
}

export type SchemaReading =
  | { readonly ok: true; readonly document: SchemaDocument }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const NO_LIMITS: SchemaLimits = {
  schemaChars: Infinity, schemaDepth: Infinity, subschemas: Infinity,
  inPlaceSubschemas: Number.MAX_VALUE,
}

/**
 * Checks a schema of JSON Schema 2020-12 or draft-07: its size, its references and its keywords. Unknown keywords are
 * ignored, as the standard requires. Contract: compiles nothing.
 */
export function readSchema(schema: Json, { limits = NO_LIMITS, patternFault }: SchemaTerms = {}): SchemaReading {
  if (typeof schema === 'boolean') {
    const document = {
      root: schema, tree: undefined, references: undefined, ways: undefined, subschemas: 1, unknownKeywords: [],
      idlePatterns: [],
    }
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
  const faults = [...tree.faults, ...references.faults, ...tree.all.flatMap(keywordFaults)]
  if (faults.length > 0) return { ok: false, faults: faults as [SchemaFault, ...SchemaFault[]] }
  const ways = new SchemaWays(tree, references)
  const mostWays = Math.max(Math.min(limits.subschemas, MOST_WAYS), tree.all.length)
  const cost = costPerValue(tree, references, ways, mostWays)
  if (cost === undefined) return refuse('', `has dynamic references that make more than ${mostWays} subschemas of it`)
  if (cost > limits.inPlaceSubschemas) return refuse('', tooManyInPlace(limits))
  const document = {
    root: schema, tree, references, ways, subschemas: tree.all.length,
    unknownKeywords: tree.all.flatMap(findUnknownKeywords),
    idlePatterns: patternFault === undefined ? [] : tree.all.flatMap((node) => findIdlePatterns(node, patternFault)),
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

function findIdlePatterns(
  { schema, path }: SchemaNode, findFault: (source: string) => string | undefined,
): SchemaFault[] {
  return patternsOf(schema).flatMap(([source, at]) => {
    const fault = findFault(source)
    if (fault === undefined) return []
    return [{ path: path + at, message: `has a pattern that is not enforced: ${visibleText(fault)}` }]
  })
}

/** Schemas of a document without limits, each counted for every way on which dynamic references lead elsewhere. */
const MOST_WAYS = 20_000

/**
 * The largest number of schemas that apply to one value, references included; Infinity for a schema that applies
 * itself. Twenty small definitions that each refer twice to the next one make a million, which would block the host.
 * undefined if there are too many ways.
 */
function costPerValue(
  tree: SchemaTree, references: References, ways: SchemaWays, most: number,
): number | undefined {
  const costs = new SituatedMap<number>()
  const open = new SituatedMap<boolean>()
  const ahead: Situated[] = []

  const costOf = (place: Situated): number => {
    const known = costs.get(place)
    if (known !== undefined) return known
    if (open.get(place) === true || costs.size > most) return Infinity
    open.set(place, true)
    const { inPlace, below } = appliedBy(place)
    const enter = (schema: Json): readonly Situated[] => isJsonObject(schema) ? [ways.to(schema, place.scope)] : []
    // The others are on the same way, and apply to other values. Without open references there is one way to each.
    if (references.open.size > 0) ahead.push(...below.flatMap(enter))
    const once = inPlace.flatMap(enter).reduce((sum, one) => sum + costOf(one), 1)
    // Finding the evaluated members takes a second pass over the same schemas.
    const cost = UNEVALUATED.some((keyword) => keyword in place.schema) ? 2 * once : once
    open.set(place, false)
    costs.set(place, cost)
    return cost
  }

  const appliedBy = (place: Situated): { readonly inPlace: readonly Json[]; readonly below: readonly Json[] } => {
    const { value = [], members = [] } =
      Object.groupBy(subschemasOf(tree.of(place.schema)!.keywords, '2020-12'), ({ keyword }) => keywordTarget(keyword))
    const targets = [references.targets.get(place.schema) ?? true, ways.dynamicTarget(place) ?? true]
    return { inPlace: [...value.map(({ schema }) => schema), ...targets], below: members.map(({ schema }) => schema) }
  }

  let highest = 0
  for (const { schema } of tree.all) {
    if (!costs.hasSchema(schema)) ahead.push(ways.to(schema))
    for (let place = ahead.pop(); place !== undefined; place = ahead.pop()) {
      highest = Math.max(highest, costOf(place))
      if (costs.size > most) return undefined
    }
  }
  return highest
}
