import type { Ajv2020, ErrorObject, Options } from 'ajv/dist/2020.js'
import { BulkheadError, canonicalJson, messageOf, SCHEMA_FORMATS, type Json, type JsonObject } from '@bulkhead/contract'
import { withinTime } from './bounded-work.ts'
import { isWithin, quickChars } from './check-cost.ts'
import { ajv, ajvFormats } from './late-libraries.ts'
import { linearRegExp, patternSize } from './linear-regexp.ts'
import { sha256 } from '../encoding/sha256.ts'
import { UNIQUE_ITEMS } from './unique-items.ts'

export interface SchemaFault {
  /** JSON Pointer to the value. */
  readonly path: string
  readonly keyword: string
  /** What the schema wants there. */
  readonly message: string
}

/**
 * The first fault of a value, or undefined. `chars` is how long its JSON is, where that is known. Contract: never throws, changes
 * nothing, and takes no longer than a second: what does is a fault.
 */
export type SchemaCheck = (value: Json, chars?: number) => SchemaFault | undefined

const CHECK_MS = 1_000
const TOO_MUCH: SchemaFault = { path: '', keyword: '', message: `takes longer than ${CHECK_MS} ms to be held against the schema; send less` }

const OPTIONS: Options = {
  // An unknown keyword or format is a typing error that would let everything pass. The other strictnesses refuse what is valid.
  strict: true, strictTypes: false, strictTuples: false, strictRequired: false,
  // Whoever proved the manifest has held it against the meta-schema; doing so again would double the time to start.
  meta: false, validateSchema: false,
  allErrors: false,
  logger: false,
  code: { regExp: linearRegExp },
}
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Compiles each JSON Schema once, by its content. Compiling costs a thousand times what checking does. */
export class Validators {
  // Not for schemas with an id: others would reach them by it, or clash with them.
  #shared: Ajv2020 | undefined
  readonly #checks = new Map<string, SchemaCheck>()

  /** Throws ConfigSchemaInvalid. */
  compile(schema: JsonObject): SchemaCheck {
    const text = canonicalJson(schema)
    const digest = sha256(text)
    const known = this.#checks.get(digest)
    if (known) return known
    const check = this.#compile(schema, text)
    this.#checks.set(digest, check)
    return check
  }

  /** For a schema that is known to compile: it is compiled with the first value, which for most is never. */
  compileLate(schema: JsonObject): SchemaCheck {
    let check: SchemaCheck | undefined
    return (value, chars) => (check ??= this.compile(schema))(value, chars)
  }

  #compile(schema: JsonObject, text: string): SchemaCheck {
    const { $schema: dialect = DIALECT } = schema
    if (dialect !== DIALECT) throw invalid(`The schema is written in another dialect than ${DIALECT}.`)
    const patternsBefore = patternSize()
    const ajv2020 = text.includes('"$id"') ? compiler() : (this.#shared ??= compiler())
    const validate = attempt(() => ajv2020.compile<Json>(schema))
    // Such a validator answers with a promise, which is truthy for every value and ends the process when it rejects.
    if ('$async' in validate && validate.$async) throw invalid('The schema uses $async, which JSON Schema does not have.')
    const quick = quickChars(schema, text, patternSize() - patternsBefore)
    const check = (value: Json) => validate(value) ? undefined : toFault(validate.errors?.[0])
    return (value, chars) => {
      if (chars === undefined ? isWithin(value, quick) : chars <= quick) return check(value)
      const done = withinTime(() => check(value), CHECK_MS)
      return done === undefined ? TOO_MUCH : done.value
    }
  }
}

const compiler = (): Ajv2020 =>
  ajvFormats().default(new (ajv().Ajv2020)(OPTIONS), [...SCHEMA_FORMATS]).removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS)

function attempt<Value>(compile: () => Value): Value {
  try {
    return compile()
  } catch (thrown) {
    throw invalid(`The schema cannot be compiled: ${messageOf(thrown)}.`, thrown)
  }
}

const invalid = (message: string, cause?: unknown) => new BulkheadError('ConfigSchemaInvalid', message, { cause })

function toFault(error: ErrorObject | undefined): SchemaFault {
  if (!error) return { path: '', keyword: '', message: 'does not satisfy the schema' }
  const { instancePath, keyword, message = 'does not satisfy the schema' } = error
  return { path: instancePath, keyword, message: message + detail(error) }
}

/** What the validator knows and its message leaves out. */
function detail({ keyword, params }: ErrorObject): string {
  const facts = params as Readonly<Record<string, unknown>>
  if (keyword === 'additionalProperties') return ` (${JSON.stringify(facts['additionalProperty'])})`
  if (keyword === 'unevaluatedProperties') return ` (${JSON.stringify(facts['unevaluatedProperty'])})`
  if (keyword === 'enum') return ` ${JSON.stringify(facts['allowedValues'])}`
  if (keyword === 'const') return ` ${JSON.stringify(facts['allowedValue'])}`
  return ''
}
