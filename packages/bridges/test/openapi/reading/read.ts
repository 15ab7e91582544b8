import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { DescribedApi, Wanted } from '../../../src/openapi/reading/api-description.ts'
import { readOperations } from '../../../src/openapi/reading/operations.ts'

export const ALL: Wanted = { operations: null, tags: null, paths: null, methods: null, hasBaseUrl: false }

export const document = (paths: object, more: object = {}): JsonObject =>
  ({ openapi: '3.1.0', info: { title: 'T', version: '1.0.0' }, paths, ...more }) as JsonObject

export const read = (paths: object, more: object = {}, wanted: Partial<Wanted> = {}): DescribedApi =>
  readOperations(document(paths, more), { ...ALL, ...wanted })

/** A document with one operation at `/x/{id}`. */
export function operation(fields: object, more: object = {}, method = 'post'): DescribedApi {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  return read({ '/x/{id}': { parameters: [id], [method]: { operationId: 'go', ...fields } } }, more)
}

export const schemaOf = (api: DescribedApi): Record<string, Json> =>
  api.operations[0]!.inputSchema as Record<string, Json>
