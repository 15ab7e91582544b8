import { canonicalJson, messageOf, pointerStep, type Json, type JsonObject } from '@bulkhead/contract'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { sha512 } from '../digest.ts'
import type { LoaderLimits } from '../limits.ts'
import { linearEngine } from './linear-pattern.ts'
import { reviewSchema, type SchemaFault } from './schema-rules.ts'

export type CompiledSchema =
  | { readonly ok: true; readonly subschemas: number; validate(value: Json): SchemaFault | undefined }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

/** Formats whose check is quick for every text. An unknown one is a fault of the schema, never silently ignored. */
const FORMATS = [
  'date', 'time', 'date-time', 'duration', 'uri', 'uri-reference', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer',
  'int32', 'int64', 'float', 'double', 'password', 'binary',
] as const
const formatNames: ReadonlySet<string> = new Set(FORMATS)

/** So many verdicts are kept; loading again, and the many schemas that are alike, cost nothing. */
const REMEMBERED = 4_096

/** Compiles JSON Schemas of strangers under limits. Contract: neither compiling nor validating throws. */
export class SchemaCompiler {
  readonly #limits: LoaderLimits
  readonly #ajv: Ajv2020
  readonly #verdicts = new Map<string, CompiledSchema>()

  constructor(limits: LoaderLimits) {
    this.#limits = limits
    this.#ajv = new Ajv2020({
      strict: true,
      // Idioms of honest schemas: `oneOf` over `required`, open tuples, `["string", "null"]`.
      strictRequired: false,
      strictTuples: false,
      allowUnionTypes: true,
      allowMatchingProperties: true,
      allErrors: false,
      logger: false,
      // Both keep the time of compiling linear in the size of the schema.
      inlineRefs: false,
      code: { optimize: false, regExp: linearEngine },
    })
    ajvFormats.default(this.#ajv, [...FORMATS])
    // The meta-schema names it.
    this.#ajv.addFormat('regex', true)
  }

  /** `checksValues` is false for a schema that is only told to a model: its patterns never run. */
  compile(schema: JsonObject, checksValues = true): CompiledSchema {
    const key = sha512(`${checksValues} ${canonicalJson(schema)}`)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = this.#compile(schema, checksValues, key)
    if (this.#verdicts.size >= REMEMBERED) this.#verdicts.delete(this.#verdicts.keys().next().value!)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  #compile(schema: JsonObject, checksValues: boolean, key: string): CompiledSchema {
    const { faults, subschemas } = reviewSchema(schema, this.#limits, formatNames, checksValues)
    const [first, ...others] = faults
    if (first !== undefined) return { ok: false, faults: [first, ...others] }
    // An id of our own: strangers' ids would meet in one registry, and `#` must mean this schema.
    const named = { ...schema, $id: `urn:bulkhead:${key}` }
    try {
      if (!this.#ajv.validateSchema(named)) return refused(this.#ajv.errors?.[0])
      const validator = this.#ajv.compile<Json>(named)
      return { ok: true, subschemas, validate: (value) => run(validator, value) }
    } catch (error) {
      return { ok: false, faults: [{ path: '', message: `cannot be compiled: ${messageOf(error)}` }] }
    } finally {
      this.#ajv.removeSchema(named)
    }
  }
}

function refused(error: ErrorObject | undefined): CompiledSchema {
  return { ok: false, faults: [error === undefined ? { path: '', message: 'is not a JSON Schema' } : faultOf(error)] }
}

function run(validator: ValidateFunction<Json>, value: Json): SchemaFault | undefined {
  try {
    return validator(value) ? undefined : faultOf(validator.errors![0]!)
  } catch (error) {
    return { path: '', message: `cannot be checked: ${messageOf(error)}` }
  }
}

/** At the member that is missing or too many, rather than at the object around it. */
function faultOf({ instancePath, keyword, params, message = 'is not valid' }: ErrorObject): SchemaFault {
  const facts = params as Readonly<Record<string, string | undefined>>
  const missing = keyword === 'required' ? facts['missingProperty'] : undefined
  if (missing !== undefined) return { path: instancePath + pointerStep(missing), message: 'is missing' }
  const surplus = facts['additionalProperty'] ?? facts['unevaluatedProperty']
  if (surplus !== undefined) return { path: instancePath + pointerStep(surplus), message: 'is not a known key' }
  return { path: instancePath, message }
}
