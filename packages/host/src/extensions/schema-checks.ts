import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { createContext, Script, type Context } from 'node:vm'
import { BulkheadError, MANIFEST_LIMITS } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  patternEngine, readSchema, schemaCompiler, type CompiledSchema, type CompileSchema, type SchemaDocument,
  type ValueFault,
} from '@bulkhead/kit/schema'

export type SchemaFault = ValueFault

/**
 * The first fault of a value, or undefined. `chars`: the length of its JSON, if known. Contract: never throws, changes
 * nothing, and takes at most a second: longer is a fault.
 */
export type SchemaCheck = (value: Json, chars?: number) => SchemaFault | undefined

const CHECK_MS = 1_000
const faultOf = (message: string): SchemaFault => ({ path: '', keyword: '', message })
const TOO_SLOW = faultOf(`takes longer than ${CHECK_MS} ms to validate; send less`)
const TOO_DEEP = faultOf('is nested too deep to validate; send less')

/** Checks that are found again by their schema. The oldest leave. Their users keep them. */
const MOST_CHECKS = 4_096

/**
 * Reviews each JSON Schema once, by content, and compiles it with the first value. Most are never compiled, and
 * compiling costs a thousand times as much as checking.
 */
export class Validators {
  readonly #checks = new Map<string, SchemaCheck>()
  #compiler: CompileSchema | undefined

  /** Throws ConfigSchemaInvalid. */
  compile(schema: JsonObject): SchemaCheck {
    const text = canonicalJson(schema)
    const digest = hash('sha256', text)
    const known = this.#checks.get(digest)
    if (known) return known
    // A copy: later changes by the caller must not change the check.
    const document = review(JSON.parse(text) as Json)
    let check: SchemaCheck | undefined
    const late: SchemaCheck = (value, chars) => {
      try {
        check ??= checkOf(this.#compile(document), schema, text)
      } catch (thrown) {
        // Not cached: the library may have failed to load for lack of file descriptors.
        return faultOf(`cannot be validated, because the schema does not compile: ${messageOf(thrown)}`)
      }
      return check(value, chars)
    }
    if (this.#checks.size >= MOST_CHECKS) this.#checks.delete(this.#checks.keys().next().value!)
    this.#checks.set(digest, late)
    return late
  }

  /** For a schema that is known to be valid. */
  compileLate(schema: JsonObject): SchemaCheck {
    let check: SchemaCheck | undefined
    return (value, chars) => (check ??= this.compile(schema))(value, chars)
  }

  #compile(document: SchemaDocument): CompiledSchema {
    this.#compiler ??= schemaCompiler(ajv().Ajv2020, { compile: (source) => patterns().compile(source) })
    return this.#compiler(document)
  }
}

/** Created with the first pattern: the library takes longer to load than a host takes to start. */
const patterns = () => patternEngine(re2js().RE2JS, MANIFEST_LIMITS.patternChars)

function review(schema: Json): SchemaDocument {
  const reading = attempt(() => readSchema(schema))
  if (reading.ok) return reading.document
  const [{ path, message }] = reading.faults
  throw invalid(`The schema cannot be used: ${path === '' ? 'it' : `at ${path} it`} ${message}.`)
}

function checkOf({ check: validate, patternSize }: CompiledSchema, schema: JsonObject, text: string): SchemaCheck {
  const quick = quickChars(schema, text, patternSize)
  return (value, chars) => {
    try {
      if (chars === undefined ? isWithin(value, quick) : chars <= quick) return validate(value)
      const done = withinTime(() => validate(value), CHECK_MS)
      return done === undefined ? TOO_SLOW : done.value
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

const TIMEOUT_CODE = 'ERR_SCRIPT_EXECUTION_TIMEOUT'
const script = new Script('work()')
const globals: { work: () => unknown } = { work: () => undefined }
let context: Context | undefined

/**
 * Runs synchronous work with a time limit, so that a third-party schema and value cannot block the host. Returns
 * undefined if the limit was reached. Costs a fifth of a millisecond for its own timer. Contract: throws what `work`
 * throws.
 */
export function withinTime<Value>(work: () => Value, ms: number): { readonly value: Value } | undefined {
  context ??= createContext(globals)
  globals.work = work
  try {
    return { value: script.runInContext(context, { timeout: ms }) as Value }
  } catch (thrown) {
    if ((thrown as { readonly code?: unknown } | null)?.code === TIMEOUT_CODE) return undefined
    throw thrown
  } finally {
    globals.work = () => undefined
  }
}

const load = createRequire(import.meta.url)

// Libraries that take longer to load than a host takes to start. A list of tools does not need them, and neither does a
// host whose tools are never called. Loading is synchronous, because the callers cannot wait.

const ajv = (): typeof import('./ajv.ts') => load(fileURLToPath(new URL('./ajv.ts', import.meta.url)))
export const re2js = (): typeof import('re2js') => load('re2js')

/** Loads all of them before third-party code runs, so that later changes on the disk have no effect. */
export function loadLateLibraries(): void {
  for (const library of [ajv, re2js]) library()
}

/** Operations per second, at least. */
const CHECKS = 500_000_000
const PATTERN_STEPS = 25_000_000
/** The longest time that a check may block the host. */
const QUICK_SECONDS = 0.1
/** The cost of comparing whole lists or objects, per character. */
const COMPARISON_COST = 32
/** Schemas that apply to one value through references. The loader allows no more. */
const MAX_SCHEMAS_PER_VALUE = 2_000

/**
 * How many characters a value may have so that its check is quick in the worst case: everything in the schema applies
 * to each character, and references double the work. `patternSize`: of all its patterns together.
 */
export function quickChars(schema: JsonObject, text: string, patternSize: number): number {
  const references = text.split(/"\$(?:ref|dynamicRef)"/).length - 1
  const times = Math.min(MAX_SCHEMAS_PER_VALUE, 2 ** (references / 2))
  const seconds = times * ((text.length / 8 + comparisons(schema)) / CHECKS + patternSize / PATTERN_STEPS)
  return Math.floor(QUICK_SECONDS / seconds)
}

/** The cost of `enum` and `const`, which compare whole values. */
function comparisons(schema: Json): number {
  if (Array.isArray(schema)) return schema.reduce<number>((sum, item) => sum + comparisons(item), 0)
  if (!isJsonObject(schema)) return 0
  return Object.entries(schema).reduce((sum, [keyword, value]) => sum + (
    keyword === 'enum' || keyword === 'const' ? comparedChars(value) * COMPARISON_COST : comparisons(value)), 0)
}

const comparedChars = (value: Json): number => {
  const all = Array.isArray(value) ? value : [value]
  return all.some((one) => typeof one === 'object' && one !== null) ? canonicalJson(value).length : 0
}

/** Whether a value has about this many characters at most. Stops as soon as it has more. */
export function isWithin(value: Json, chars: number): boolean {
  return remaining(value, chars) >= 0
}

function remaining(value: Json, left: number): number {
  if (left < 0) return left
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left - 4
  let rest = left - 2
  for (const [key, member] of Object.entries(value)) {
    if (rest < 0) return rest
    rest = remaining(member, rest - (Array.isArray(value) ? 1 : key.length))
  }
  return rest
}
