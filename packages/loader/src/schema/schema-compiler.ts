import { messageOf } from '@bulkhead/kit/error-message'
import { pointerStep, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  patternEngine, readSchema, schemaCompiler, type SchemaFault as ReadingFault, type SchemaReading, type ValueFault,
} from '@bulkhead/kit/schema'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'
import type { LoaderLimits } from '../model/limits.ts'

/** What is wrong with a schema, or with a value that was checked with it. */
export interface SchemaFault extends ReadingFault {
  /** Nothing is known to be wrong: there was no thread to find out in. */
  readonly noThread?: true
}

/** Whether a schema can be used, and if not, why. */
export type SchemaVerdict =
  /** `unknownKeywords` say nothing, and may be slips. */
  | { readonly ok: true; readonly subschemas: number; readonly unknownKeywords?: readonly SchemaFault[] }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

/** Says of schemas whether they can be used, and of values whether they satisfy one. Contract: never rejects. */
export interface SchemaJudge {
  /** `runsPatterns` is false where a pattern that cannot run is shown to a model and not run. */
  inspect(schema: JsonObject, runsPatterns?: boolean): Promise<SchemaVerdict>
  /** What is wrong with the value, or with the schema. */
  check(schema: JsonObject, value: Json): Promise<SchemaFault | undefined>
}

export type CompiledSchema =
  | { readonly ok: true; readonly subschemas: number; readonly unknownKeywords: readonly SchemaFault[]; validate(value: Json): SchemaFault | undefined }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const patterns = patternEngine(RE2JS)

/** Reviews and compiles JSON Schemas of strangers under limits. Contract: nothing throws, whatever the schema and the value. */
export class SchemaCompiler {
  readonly limits: LoaderLimits
  readonly #compile = schemaCompiler(Ajv2020, patterns)

  constructor(limits: LoaderLimits) {
    this.limits = limits
  }

  /** Whether the schema can be used. `runsPatterns` is false where a pattern that cannot run is shown to a model and not run. */
  inspect(schema: JsonObject, runsPatterns = true): SchemaVerdict {
    const compiled = this.compile(schema, runsPatterns)
    if (!compiled.ok) return compiled
    const { subschemas, unknownKeywords } = compiled
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
      return readSchema(schema, { limits: this.limits, patternFault: (source) => patterns.findFault(source, runsPatterns) })
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

/** At the member that is missing or too many, rather than at the object around it. */
function configFault({ path, keyword, message, member }: ValueFault): SchemaFault {
  if (member === undefined || keyword === 'propertyNames') return { path, message }
  const isMissing = keyword === 'required' || keyword === 'dependentRequired'
  return { path: path + pointerStep(member), message: isMissing ? 'is missing' : 'is not a known key' }
}
