import { isJsonObject, pointerStep, type Json, type JsonObject } from '@bulkhead/contract/plain'
import { appliesInPlace, keywordForm } from './vocabulary.ts'

export interface Subschema {
  /** JSON Pointer from the root of the schema. */
  readonly path: string
  readonly depth: number
  readonly schema: JsonObject
  /** Whether it applies to the same value as the schema around it. */
  readonly inPlace: boolean
}

/** The schemas directly below a schema. What stands where a schema should and is none is left to the meta-schema. */
export function* childSchemas({ schema, path, depth }: Subschema): Generator<Subschema> {
  for (const [keyword, value] of Object.entries(schema)) {
    const below = path + pointerStep(keyword)
    const inPlace = appliesInPlace(keyword)
    for (const [step, child] of members(keyword, value)) {
      if (isJsonObject(child)) yield { path: below + step, depth: depth + 1, schema: child, inPlace }
    }
  }
}

function members(keyword: string, value: Json): readonly (readonly [string, Json])[] {
  switch (keywordForm(keyword, false)) {
    case 'subschema':
      return [['', value]]
    case 'list':
      return Array.isArray(value) ? value.map((child: Json, index) => [pointerStep(index), child] as const) : []
    case 'map':
      return isJsonObject(value) ? Object.entries(value).map(([key, child]) => [pointerStep(key), child] as const) : []
    default:
      return []
  }
}
