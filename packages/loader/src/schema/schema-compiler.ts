import { MANIFEST_LIMITS } from '@bulkhead/contract'
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

/** Parts of a schema that have no effect. */
interface Ineffective {
  /** They may be typos. */
  readonly unknownKeywords: readonly SchemaFault[]
  readonly idlePatterns: readonly SchemaFault[]
}

/** Whether a schema can be used. */
export type SchemaVerdict =
  | ({ readonly ok: true; readonly subschemas: number } & Partial<Ineffective>)
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

export type CompiledSchema =
  | ({
    readonly ok: true
    readonly subschemas: number
    validate(value: Json): SchemaFault | undefined
  } & Ineffective)
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const patterns = patternEngine(RE2JS, MANIFEST_LIMITS.patternChars)
/** A large API repeats few patterns many times. */
const patternFaults = new Map<string, string | undefined>()
const MOST_KEPT = 4_096

function patternFault(source: string): string | undefined {
  if (patternFaults.size >= MOST_KEPT) patternFaults.clear()
  if (!patternFaults.has(source)) patternFaults.set(source, patterns.findFault(source))
  return patternFaults.get(source)
}

/** Reads and compiles untrusted JSON Schemas under limits. Contract: nothing throws, for any schema and any value. */
export class SchemaCompiler {
  readonly limits: LoaderLimits
  readonly #compile = schemaCompiler(Ajv2020, patterns)

  constructor(limits: LoaderLimits) {
    this.limits = limits
  }

  /**
   * `compiles` is false for a schema that is only shown, or comes from a server: it is read and not compiled, because a
   * large API has thousands.
   */
  inspect(schema: JsonObject, compiles = true): SchemaVerdict {
    const verdict = compiles ? this.compile(schema) : this.#read(schema)
    if (!verdict.ok) return verdict
    const { subschemas, unknownKeywords, idlePatterns } = 'document' in verdict ? verdict.document : verdict
    return {
      ok: true, subschemas, ...(unknownKeywords.length > 0 && { unknownKeywords }),
      ...(idlePatterns.length > 0 && { idlePatterns }),
    }
  }

  compile(schema: JsonObject): CompiledSchema {
    const reading = this.#read(schema)
    if (!reading.ok) return reading
    const { subschemas, unknownKeywords, idlePatterns } = reading.document
    try {
      const { check } = this.#compile(reading.document)
      return { ok: true, subschemas, unknownKeywords, idlePatterns, validate: (value) => run(check, value) }
    } catch (error) {
      return { ok: false, faults: [{ path: '', message: `cannot be compiled: ${messageOf(error)}` }] }
    }
  }

  #read(schema: JsonObject): SchemaReading {
    try {
      return readSchema(schema, { limits: this.limits, patternFault })
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
