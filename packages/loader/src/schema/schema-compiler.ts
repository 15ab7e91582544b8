import { messageOf } from '@bulkhead/kit/error-message'
import { pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  patternEngine, readSchema, schemaCompiler, type SchemaFault as ReadingFault, type SchemaReading, type ValueFault,
} from '@bulkhead/kit/schema'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import type { LoaderLimits } from '../model/limits.ts'

/** A fault of a schema, or of a value that was checked against it. */
export interface SchemaFault extends ReadingFault {
  /** The check did not run, because no thread could be started. */
  readonly noThread?: true
}

/** Whether a schema can be used. */
export type SchemaVerdict =
  /** `unknownKeywords` have no effect and may be typos. */
  | { readonly ok: true; readonly subschemas: number; readonly unknownKeywords?: readonly SchemaFault[] }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

export type CompiledSchema =
  | {
    readonly ok: true
    readonly subschemas: number
    readonly unknownKeywords: readonly SchemaFault[]
    validate(value: Json): SchemaFault | undefined
  }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const patterns = patternEngine(RE2JS)

/** Reads and compiles untrusted JSON Schemas under limits. Contract: nothing throws, for any schema and any value. */
export class SchemaCompiler {
  readonly limits: LoaderLimits
  readonly #compile = schemaCompiler(Ajv2020, patterns)

  constructor(limits: LoaderLimits) {
    this.limits = limits
  }

  /** A schema that is only shown, or comes from a server, is read but not compiled: a large API has thousands. */
  inspect(schema: JsonObject, runsPatterns = true): SchemaVerdict {
    const verdict = runsPatterns ? this.compile(schema, runsPatterns) : this.#read(schema, runsPatterns)
    if (!verdict.ok) return verdict
    const { subschemas, unknownKeywords } = 'document' in verdict ? verdict.document : verdict
    return { ok: true, subschemas, ...(unknownKeywords.length > 0 && { unknownKeywords }) }
  }

  compile(schema: JsonObject, runsPatterns = true): CompiledSchema {
    const reading = this.#read(schema, runsPatterns)
    if (!reading.ok) return reading
    const { subschemas, unknownKeywords } = reading.document
    try {
      const { check } = this.#compile(reading.document)
      return { ok: true, subschemas, unknownKeywords, validate: (value) => run(check, value) }
    } catch (error) {
      return { ok: false, faults: [{ path: '', message: `cannot be compiled: ${messageOf(error)}` }] }
    }
  }

  #read(schema: JsonObject, runsPatterns: boolean): SchemaReading {
    try {
      return readSchema(schema, {
        limits: this.limits, patternFault: (source) => patterns.findFault(source, runsPatterns),
      })
    } catch (error) {
      return { ok: false, faults: [{ path: '', message: `cannot be read: ${messageOf(error)}` }] }
    }
  }
}

function run(check: (value: Json) => ValueFault | undefined, value: Json): SchemaFault | undefined {
  try {
    const found = check(value)
    return found && configFault(found)
  } catch (error) {
    return { path: '', message: `cannot be checked: ${messageOf(error)}` }
  }
}

/** Points at the member that is missing or unknown, not at the object around it. */
function configFault({ path, keyword, message, member }: ValueFault): SchemaFault {
  if (member === undefined || keyword === 'propertyNames') return { path, message }
  const isMissing = keyword === 'required' || keyword === 'dependentRequired'
  return { path: path + pointerStep(member), message: isMissing ? 'is missing' : 'is not a known key' }
}
