import { messageOf, pointerStep, SCHEMA_FORMATS, type Json, type JsonObject } from '@bulkhead/contract/plain'
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import type { LoaderLimits } from '../limits.ts'
import { linearEngine } from './linear-pattern.ts'
import { reviewSchema, type SchemaFault } from './schema-rules.ts'

/** Whether a schema can be used, and if not, why. */
export type SchemaVerdict =
  | { readonly ok: true; readonly subschemas: number }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

export type CompiledSchema =
  | { readonly ok: true; readonly subschemas: number; validate(value: Json): SchemaFault | undefined }
  | { readonly ok: false; readonly faults: readonly [SchemaFault, ...SchemaFault[]] }

const formatNames: ReadonlySet<string> = new Set(SCHEMA_FORMATS)

const OPTIONS: Options = {
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
}

/** Compiles JSON Schemas of strangers under limits. Contract: nothing throws, whatever the schema and the value. */
export class SchemaCompiler {
  readonly limits: LoaderLimits
  readonly #compiler = withFormats(new Ajv2020(OPTIONS))
  // Writes the code of a validator and leaves it at that: most schemas are never used here, and making a function of the
  // code is most of the time.
  readonly #drafter = withFormats(new Ajv2020(
    { ...OPTIONS, meta: false, validateSchema: false, messages: false, code: { ...OPTIONS.code, process: () => 'return function () {}' } },
  ))

  constructor(limits: LoaderLimits) {
    this.limits = limits
  }

  /** Whether the schema compiles. `checksValues` is false for one that is only told to a model: its patterns never run. */
  inspect(schema: JsonObject, checksValues = true): SchemaVerdict {
    const verdict = this.#make(this.#drafter, schema, checksValues)
    return verdict.ok ? { ok: true, subschemas: verdict.subschemas } : verdict
  }

  compile(schema: JsonObject): CompiledSchema {
    return this.#make(this.#compiler, schema, true)
  }

  #make(ajv: Ajv2020, schema: JsonObject, checksValues: boolean): CompiledSchema {
    const { faults, subschemas } = reviewSchema(schema, this.limits, formatNames, checksValues)
    const [first, ...others] = faults
    if (first !== undefined) return { ok: false, faults: [first, ...others] }
    // An id of our own: strangers' ids would meet in one registry, and `#` must mean this schema.
    const named = { ...schema, $id: 'urn:bulkhead:schema' }
    try {
      if (!this.#compiler.validateSchema(named)) return refused(this.#compiler.errors?.[0])
      const validator = ajv.compile<Json>(named)
      return { ok: true, subschemas, validate: (value) => run(validator, value) }
    } catch (error) {
      return { ok: false, faults: [{ path: '', message: `cannot be compiled: ${messageOf(error)}` }] }
    } finally {
      ajv.removeSchema(named)
    }
  }
}

function withFormats(ajv: Ajv2020): Ajv2020 {
  ajvFormats.default(ajv, [...SCHEMA_FORMATS])
  // The meta-schema names it.
  return ajv.addFormat('regex', true)
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

/** Of the values that are allowed, as many as help. */
const MAX_NAMED = 20

/** At the member that is missing or too many, rather than at the object around it. */
function faultOf({ instancePath, keyword, params, message = 'is not valid' }: ErrorObject): SchemaFault {
  const facts = params as Readonly<Record<string, string | undefined>>
  const missing = keyword === 'required' ? facts['missingProperty'] : undefined
  if (missing !== undefined) return { path: instancePath + pointerStep(missing), message: 'is missing' }
  const surplus = facts['additionalProperty'] ?? facts['unevaluatedProperty']
  if (surplus !== undefined) return { path: instancePath + pointerStep(surplus), message: 'is not a known key' }
  const allowed = keyword === 'enum' ? (params as { readonly allowedValues?: readonly unknown[] }).allowedValues : undefined
  if (allowed === undefined) return { path: instancePath, message }
  return { path: instancePath, message: `must be one of ${allowed.slice(0, MAX_NAMED).map((value) => JSON.stringify(value)).join(', ')}` }
}
