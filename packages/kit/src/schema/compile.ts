import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { closeSchema } from './close-schema.ts'
import { Evaluation } from './evaluation.ts'
import type { LinearPattern, PatternEngine } from './linear-pattern.ts'
import { isMultipleOf } from './multiple-of.ts'
import type { SchemaDocument } from './schema-document.ts'

/** The first fault of a value. */
export interface ValueFault {
  /** JSON Pointer to the value. */
  readonly path: string
  readonly keyword: string
  /** What the schema wants there, as the end of a sentence. */
  readonly message: string
  /** The name of a property that is missing, or that may not be there. */
  readonly member?: string
}

export interface CompiledSchema {
  /** Contract: throws a RangeError for a value that is nested too deep, and nothing else. */
  check(value: Json): ValueFault | undefined
  /** How many steps a character may take in all patterns together. */
  readonly patternSize: number
}

interface AjvError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

interface KeywordCheck {
  (value: never): boolean
  errors?: readonly Partial<AjvError>[]
}

interface AjvKeyword {
  readonly keyword: string
  readonly type: 'array' | 'number' | 'object'
  /** The check sets the error, as Ajv expects it, on itself. */
  readonly errors: true
  compile(setting: never): KeywordCheck
}

interface Validate {
  (value: Json): unknown
  errors?: readonly AjvError[] | null
}

/** What is needed of Ajv, which the contract does not depend on: its class for 2020-12. */
export interface SchemaLibrary {
  new (options: object): {
    readonly opts: object
    removeKeyword(keyword: string): unknown
    // Its own type of a definition is a union that no plain interface satisfies.
    addKeyword(definition: never): unknown
    compile(schema: object | boolean): Validate
    addSchema(schema: object | boolean, id: string): unknown
    getSchema(id: string): Validate | undefined
  }
}

/** The same for equal values and for no others, whatever the order of their members. */
const keyOf = (value: Json): Json =>
  typeof value === 'object' && value !== null ? canonicalJson(value) : typeof value === 'string' ? `"${value}` : value

/** A check in Ajv's form that says what is wrong. `find`: undefined where nothing is. */
function keywordCheck<Value, Found>(keyword: string, message: (found: Found) => string, find: (value: Value) => Found | undefined): KeywordCheck {
  const check = (value: Value): boolean => {
    const found = find(value)
    if (found === undefined) return true
    check.errors = [{ keyword, message: message(found), params: typeof found === 'string' ? { member: found } : {} }]
    return false
  }
  check.errors = [] as readonly Partial<AjvError>[]
  return check as KeywordCheck
}

/** Those of Ajv's own keywords that are slow or wrong. */
const KEYWORDS: readonly AjvKeyword[] = [
  {
    // Ajv compares each item with each: a list of 25,000 objects takes it half a minute.
    keyword: 'uniqueItems', type: 'array', errors: true,
    compile: (isWanted: boolean) => keywordCheck('uniqueItems', () => 'must NOT have duplicate items', (items: readonly Json[]) => {
      const seen = new Set<Json>()
      return isWanted && items.some((item) => seen.size === seen.add(keyOf(item)).size) ? items : undefined
    }),
  },
  {
    // Ajv divides in binary, where 19.99 is no multiple of 0.01.
    keyword: 'multipleOf', type: 'number', errors: true,
    compile: (factor: number) => keywordCheck('multipleOf', () => `must be multiple of ${factor}`,
      (value: number) => isMultipleOf(value, factor) ? undefined : value),
  },
]

interface Evaluating {
  readonly unevaluated: readonly JsonObject[]
  readonly evaluation: Evaluation
}

const unevaluatedKeywords = (current: () => Evaluating): readonly AjvKeyword[] => [
  {
    keyword: 'unevaluatedProperties', type: 'object', errors: true,
    compile(index: number) {
      const { unevaluated, evaluation } = current()
      return keywordCheck('unevaluatedProperties', (name: string) => `must NOT have unevaluated properties (${JSON.stringify(name)})`,
        (value: JsonObject) => evaluation.wrongProperty(unevaluated[index]!, value))
    },
  },
  {
    keyword: 'unevaluatedItems', type: 'array', errors: true,
    compile(index: number) {
      const { unevaluated, evaluation } = current()
      return keywordCheck('unevaluatedItems', (at: number) => `must NOT have unevaluated items (at ${at})`,
        (value: readonly Json[]) => evaluation.wrongItem(unevaluated[index]!, value))
    },
  },
]

/** Compiles reviewed schemas. Contract: the document has passed `readSchema`. Throws only for what Ajv itself cannot compile. */
export type CompileSchema = (document: SchemaDocument) => CompiledSchema

/** The one place that says how Ajv is set up: loader, host and bridges judge a value alike. */
export function schemaCompiler(Library: SchemaLibrary, { compile }: Pick<PatternEngine, 'compile'>): CompileSchema {
  // All patterns of a compiler: Ajv asks for one by its source.
  const patterns = new Map<string, LinearPattern | undefined>()
  const patternOf = (source: string): LinearPattern | undefined => {
    if (!patterns.has(source)) patterns.set(source, compile(source))
    return patterns.get(source)
  }
  const regExp = Object.assign(
    // Ajv keeps patterns by their text: two that print alike would be taken for one.
    (source: string) => ({ test: (text: string) => patternOf(source)!.test(text), toString: () => `/${source}/u` }),
    { code: 'linearRegExp' },
  )
  const ajv = new Library({
    // The schema was reviewed. Ajv's strictness refuses what is valid.
    strict: false, meta: false, validateSchema: false, validateFormats: false, logger: false,
    // What every object inherits is no member of a value.
    ownProperties: true,
    code: { regExp },
  })
  // Its class sets this. What it writes for it can fail on valid values, and `Evaluation` needs nothing of it.
  Object.assign(ajv.opts, { unevaluated: false })
  let count = 0
  /** Of the schema that is compiled at the moment. */
  let evaluating: Evaluating | undefined
  for (const keyword of [...KEYWORDS, ...unevaluatedKeywords(() => evaluating!)]) {
    ajv.removeKeyword(keyword.keyword)
    ajv.addKeyword(keyword as never)
  }
  return (document) => {
    let patternSize = 0
    const isRunning = (source: string): boolean => {
      const pattern = patternOf(source)
      patternSize += pattern?.size ?? 0
      return pattern !== undefined
    }
    const closed = closeSchema(document, isRunning, Evaluation.schemasApart(document))
    if (closed.unevaluated.length === 0) return { patternSize, check: checkOf(ajv.compile(closed.schema)) }

    const id = `unevaluated-${++count}`
    const checks = new Map<Json, (value: Json) => unknown>()
    evaluating = {
      unevaluated: closed.unevaluated,
      evaluation: new Evaluation(document, {
        isValid: (schema, value) => isJsonObject(schema) ? checks.get(schema)!(value) === true : schema !== false,
        matches: (pattern, name) => patternOf(pattern)?.test(name),
      }),
    }
    ajv.addSchema(closed.schema, id)
    for (const [schema, name] of closed.names) checks.set(schema, ajv.getSchema(`${id}#/$defs/${name}`)!)
    return { patternSize, check: checkOf(ajv.getSchema(id)!) }
  }
}

const checkOf = (validate: Validate) => (value: Json): ValueFault | undefined => validate(value) ? undefined : toFault(validate.errors?.[0])

function toFault(error: AjvError | undefined): ValueFault {
  if (error === undefined) return { path: '', keyword: '', message: 'does not satisfy the schema' }
  const { instancePath: path, keyword, params, message = 'does not satisfy the schema' } = error
  const member = params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName'] ?? params['member']
  return { path, keyword, message: message + detail(error), ...(typeof member === 'string' && { member }) }
}

/** What Ajv knows and its message leaves out. */
function detail({ keyword, params }: AjvError): string {
  switch (keyword) {
    case 'additionalProperties':
      return ` (${JSON.stringify(params['additionalProperty'])})`
    case 'enum':
      return ` ${JSON.stringify(params['allowedValues'])}`
    case 'const':
      return ` ${JSON.stringify(params['allowedValue'])}`
    default:
      return ''
  }
}
