import { Ajv2020 } from 'ajv/dist/2020.js'
import { BulkheadError, MANIFEST_LIMITS } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { patternEngine, readSchema, schemaCompiler } from '@bulkhead/kit/schema'
import { RE2JS } from 're2js'

const patterns = patternEngine(RE2JS, MANIFEST_LIMITS.patternChars)
const compile = schemaCompiler(Ajv2020, patterns)

/** Why a pattern is not enforced. */
export const patternFault = (source: string): string | undefined => patterns.findFault(source)

/** Why a value does not satisfy the schema, or undefined. The loader has accepted the schema. */
export function validatorOf(schema: JsonObject): (value: Json) => string | undefined {
  const reading = readSchema(schema)
  if (!reading.ok) throw new BulkheadError('ConfigSchemaInvalid', 'The schema cannot be read.')
  const { check } = compile(reading.document)
  return (value) => {
    const fault = check(value)
    return fault && `${fault.path === '' ? 'it' : fault.path} ${fault.message}`
  }
}

/** Whether a value satisfies the schema. */
export function acceptsOf(schema: JsonObject): (value: Json) => boolean {
  const check = validatorOf(schema)
  return (value) => check(value) === undefined
}
