import { canonicalJson, isJsonObject, pointerStep, visibleText, type JsonObject } from '@bulkhead/contract/plain'
import type { LoaderLimits } from '../limits.ts'
import { inPlaceCost } from './in-place-cost.ts'
import { findPatternFault } from './linear-pattern.ts'
import { resolveLocal } from './local-reference.ts'
import { childSchemas, type Subschema } from './subschemas.ts'
import { DIALECT, keywordForm } from './vocabulary.ts'

export interface SchemaFault {
  /** JSON Pointer from the root of the schema. */
  readonly path: string
  readonly message: string
  /** Nothing is known to be wrong: there was no thread to find out in. */
  readonly noThread?: true
}

export interface SchemaReview {
  readonly faults: readonly SchemaFault[]
  readonly subschemas: number
}

/**
 * What a stranger's schema must keep to before it is handed to a compiler: bounded in every direction, closed in itself,
 * and of keywords this host knows. `checksValues` is false for a schema that is only told to a model.
 */
export function reviewSchema(
  schema: JsonObject, limits: LoaderLimits, formats: ReadonlySet<string>, checksValues: boolean,
): SchemaReview {
  const only = (path: string, message: string): SchemaReview => ({ faults: [{ path, message }], subschemas: 0 })
  const chars = canonicalJson(schema).length
  if (chars > limits.schemaChars) return only('', `has ${chars} characters; ${limits.schemaChars} are allowed`)

  const found: Subschema[] = [{ path: '', depth: 1, schema, inPlace: true }]
  for (let index = 0; index < found.length; index++) {
    const subschema = found[index]!
    if (subschema.depth > limits.schemaDepth) return only(subschema.path, `is nested more than ${limits.schemaDepth} deep`)
    found.push(...childSchemas(subschema))
    if (found.length > limits.subschemas) return only('', `has more than ${limits.subschemas} subschemas`)
  }

  const schemas: ReadonlySet<unknown> = new Set(found.map((subschema) => subschema.schema))
  const faults = found.flatMap((subschema) => [
    ...unknownKeywords(subschema),
    ...dialect(subschema),
    ...references(subschema, schema, schemas),
    ...patterns(subschema, limits, checksValues),
    ...format(subschema, formats),
  ])
  if (faults.length === 0 && inPlaceCost(schema, limits.inPlaceSubschemas) > limits.inPlaceSubschemas) {
    const message = `applies more than ${limits.inPlaceSubschemas} subschemas to one value, or refers to itself without end`
    faults.push({ path: '', message })
  }
  return { faults, subschemas: found.length }
}

function unknownKeywords({ schema, path }: Subschema): SchemaFault[] {
  return Object.keys(schema).filter((keyword) => keywordForm(keyword, path === '') === undefined).map((keyword) => ({
    path: path + pointerStep(keyword), message: `uses the keyword "${visibleText(keyword)}", which may not stand here`,
  }))
}

function dialect({ schema, path }: Subschema): SchemaFault[] {
  const { $schema } = schema
  if (path !== '' || $schema === undefined || $schema === DIALECT || $schema === `${DIALECT}#`) return []
  return [{ path: '/$schema', message: `must name ${DIALECT}, or be left out` }]
}

function references({ schema, path }: Subschema, root: JsonObject, schemas: ReadonlySet<unknown>): SchemaFault[] {
  const { $ref } = schema
  if (typeof $ref !== 'string') return []
  const refused = (why: string): SchemaFault[] => [{ path: `${path}/$ref`, message: `refers to "${visibleText($ref)}"${why}` }]
  if (!$ref.startsWith('#')) return refused('; only references inside the schema are followed')
  const target = resolveLocal(root, $ref)
  // Anything that is not in a schema's place, such as a default, has not been looked at.
  const good = typeof target === 'boolean' || (isJsonObject(target) && schemas.has(target))
  return good ? [] : refused(', where there is no schema')
}

function patterns({ schema, path }: Subschema, limits: LoaderLimits, checksValues: boolean): SchemaFault[] {
  const { pattern, patternProperties } = schema
  const sources = [
    ...(typeof pattern === 'string' ? [{ at: `${path}/pattern`, source: pattern }] : []),
    ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : [])
      .map((source) => ({ at: `${path}/patternProperties${pointerStep(source)}`, source })),
  ]
  return sources.flatMap(({ at, source }) => {
    const tooLong = source.length > limits.patternChars ? `it has more than ${limits.patternChars} characters` : undefined
    const fault = tooLong ?? findPatternFault(source, checksValues)
    return fault === undefined ? [] : [{ path: at, message: `has a pattern that cannot be used: ${fault}` }]
  })
}

function format({ schema, path }: Subschema, formats: ReadonlySet<string>): SchemaFault[] {
  const { format: name } = schema
  if (typeof name !== 'string' || formats.has(name)) return []
  const message = `names the unknown format "${visibleText(name)}"; known are ${[...formats].join(', ')}`
  return [{ path: `${path}/format`, message }]
}
