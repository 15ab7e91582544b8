/** Compiles untrusted schemas, in a thread of a pool. */
import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { LoaderLimits } from '../model/limits.ts'
import { SchemaCompiler, type SchemaFault, type SchemaVerdict } from './schema-compiler.ts'

/** With a value: whether the value satisfies the schema. Without one: whether the schema can be used. */
export interface SchemaRequest {
  readonly limits: LoaderLimits
  readonly schema: JsonObject
  readonly compiles: boolean
  readonly value?: Json
}

export interface SchemaReply {
  readonly verdict: SchemaVerdict
  /** The fault of the value. */
  readonly fault?: SchemaFault
}

let compiler: SchemaCompiler | undefined

export const run = (requests: readonly SchemaRequest[]): readonly SchemaReply[] => requests.map(answer)

function answer({ limits, schema, compiles, value }: SchemaRequest): SchemaReply {
  // Limits rarely change, and creating a compiler takes a few milliseconds.
  if (compiler === undefined || !isDeepStrictEqual(compiler.limits, limits)) compiler = new SchemaCompiler(limits)
  if (value === undefined) return { verdict: compiler.inspect(schema, compiles) }
  const compiled = compiler.compile(schema)
  if (!compiled.ok) return { verdict: compiled }
  const fault = compiled.validate(value)
  return { verdict: { ok: true, subschemas: compiled.subschemas }, ...(fault !== undefined && { fault }) }
}
