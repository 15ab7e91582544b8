import { BulkheadError, canonicalJson, messageOf, type Json, type JsonObject } from '@bulkhead/contract'
import { compileSchema, patternEngine, readSchema, type SchemaDocument, type ValueFault } from '@bulkhead/contract/json-schema'
import { sha256 } from '../encoding/sha256.ts'
import { withinTime } from './bounded-work.ts'
import { isWithin, quickChars } from './check-cost.ts'
import { re2js } from './late-libraries.ts'

export type SchemaFault = ValueFault

/**
 * The first fault of a value, or undefined. `chars` is how long its JSON is, where that is known. Contract: never throws, changes
 * nothing, and takes no longer than a second: what does is a fault.
 */
export type SchemaCheck = (value: Json, chars?: number) => SchemaFault | undefined

const CHECK_MS = 1_000
const TOO_MUCH: SchemaFault = { path: '', keyword: '', message: `takes longer than ${CHECK_MS} ms to be held against the schema; send less` }
const TOO_DEEP: SchemaFault = { path: '', keyword: '', message: 'is nested too deep to be held against the schema; send less' }

interface CompileOptions {
  /** Of a server or a document: a pattern that cannot run in linear time is shown to the model and not run. */
  readonly isForeign?: boolean
}

/** Compiles each JSON Schema once, by its content. */
export class Validators {
  readonly #checks = new Map<string, SchemaCheck>()

  /** Throws ConfigSchemaInvalid. */
  compile(schema: JsonObject, { isForeign = false }: CompileOptions = {}): SchemaCheck {
    const text = canonicalJson(schema)
    const digest = `${isForeign ? 'foreign ' : ''}${sha256(text)}`
    const known = this.#checks.get(digest)
    if (known) return known
    // A copy: what the caller does to the schema later changes no check.
    const check = checkOf(review(JSON.parse(text) as Json, isForeign), schema, text)
    this.#checks.set(digest, check)
    return check
  }

  /** For a schema that is known to compile: it is compiled with the first value, which for most is never. */
  compileLate(schema: JsonObject): SchemaCheck {
    let check: SchemaCheck | undefined
    return (value, chars) => (check ??= this.compile(schema))(value, chars)
  }
}

/** Made with the first pattern: the library takes longer to load than a host takes to start. */
const patterns = () => patternEngine(re2js().RE2JS)

function review(schema: Json, isForeign: boolean): SchemaDocument {
  const reading = attempt(() => readSchema(schema, isForeign ? {} : { patternFault: (source) => patterns().findFault(source) }))
  if (reading.ok) return reading.document
  const [{ path, message }] = reading.faults
  throw invalid(`The schema cannot be used: ${path === '' ? 'it' : `at ${path} it`} ${message}.`)
}

function checkOf(document: SchemaDocument, schema: JsonObject, text: string): SchemaCheck {
  let patternSize = 0
  const validate = attempt(() => compileSchema(document, (source) => {
    const pattern = patterns().compile(source)
    patternSize += pattern?.size ?? 0
    return pattern
  }))
  const quick = quickChars(schema, text, patternSize)
  return (value, chars) => {
    try {
      if (chars === undefined ? isWithin(value, quick) : chars <= quick) return validate(value)
      const done = withinTime(() => validate(value), CHECK_MS)
      return done === undefined ? TOO_MUCH : done.value
    } catch (thrown) {
      if (thrown instanceof RangeError) return TOO_DEEP
      throw thrown
    }
  }
}

function attempt<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (thrown) {
    throw invalid(`The schema cannot be used: ${messageOf(thrown)}.`, thrown)
  }
}

const invalid = (message: string, cause?: unknown) => new BulkheadError('ConfigSchemaInvalid', message, { cause })
