import { isJsonObject, type Json } from '../json.ts'
import { ajvKeywords, type AjvError, type Evaluating } from './ajv-keywords.ts'
import { closeSchema } from './close-schema.ts'
import { SituatedMap } from './dynamic-scope.ts'
import { Evaluation } from './evaluation.ts'
import { IdlePatterns } from './idle-patterns.ts'
import type { LinearPattern, PatternEngine } from './linear-pattern.ts'
import type { SchemaDocument } from './schema-document.ts'

/** The first fault of a value. */
export interface ValueFault {
  /** JSON Pointer to the value. */
  readonly path: string
  readonly keyword: string
  /** What the schema requires, as the end of a sentence. */
  readonly message: string
  /** The name of the missing or forbidden property. */
  readonly member?: string
}

export interface CompiledSchema {
  /** Contract: throws only a RangeError, for a value that is nested too deep. */
  check(value: Json): ValueFault | undefined
  /** The maximum number of steps per character, for all patterns together. */
  readonly patternSize: number
}

interface Validate {
  (value: Json): unknown
  errors?: readonly AjvError[] | null
}

/** The parts of Ajv's class for 2020-12 that are needed. The kit does not depend on Ajv. */
export interface SchemaLibrary {
  new (options: object): {
    readonly opts: object
    removeKeyword(keyword: string): unknown
    // Ajv's own type is a union that no plain interface satisfies.
    addKeyword(definition: never): unknown
    compile(schema: object | boolean): Validate
    addSchema(schema: object | boolean, id: string): unknown
    getSchema(id: string): Validate | undefined
  }
}

/** Compiles a document of `readSchema`. Throws only if Ajv cannot compile it. */
export type CompileSchema = (document: SchemaDocument) => CompiledSchema

/** An instance of Ajv keeps all schemas that it has compiled, with their patterns, as long as it is used. */
const MOST_PER_INSTANCE = 256

/** Configures Ajv, so that loader, host and bridges validate alike. Does not keep the schemas it has compiled. */
export function schemaCompiler(Library: SchemaLibrary, engine: Pick<PatternEngine, 'compile'>): CompileSchema {
  let current: CompileSchema | undefined
  let left = 0
  return (document) => {
    if (current === undefined || left === 0) {
      current = instanceOf(Library, engine)
      left = MOST_PER_INSTANCE
    }
    left -= 1
    return current(document)
  }
}

function instanceOf(Library: SchemaLibrary, { compile }: Pick<PatternEngine, 'compile'>): CompileSchema {
  // Ajv asks for a pattern by its source.
  const patterns = new Map<string, LinearPattern | undefined>()
  const patternOf = (source: string): LinearPattern | undefined => {
    if (!patterns.has(source)) patterns.set(source, compile(source))
    return patterns.get(source)
  }
  const regExp = Object.assign(
    // Ajv caches patterns by their string, so different patterns must print differently.
    (source: string) => ({ test: (text: string) => patternOf(source)!.test(text), toString: () => `/${source}/u` }),
    { code: 'linearRegExp' },
  )
  const ajv = new Library({
    // The schema was checked before. Ajv's strict mode rejects valid schemas.
    strict: false, meta: false, validateSchema: false, validateFormats: false, logger: false,
    // Inherited properties are not members of a value.
    ownProperties: true,
    // Keep the time to compile linear in the length of the schema. Otherwise Ajv copies a definition to each of its
    // references, and optimizes its code. A check takes 0.04 µs longer for a reference, and otherwise as long.
    inlineRefs: false,
    code: { regExp, optimize: false },
  })
  // Ajv's class sets this. The generated code can fail on valid values, and `Evaluation` does not need it.
  Object.assign(ajv.opts, { unevaluated: false })
  let count = 0
  /** For the schema that is being compiled. */
  let evaluating: Evaluating | undefined
  for (const keyword of ajvKeywords(() => evaluating!)) {
    ajv.removeKeyword(keyword.keyword)
    ajv.addKeyword(keyword as never)
  }
  return (document) => {
    const idle = new IdlePatterns(document, (source) => patternOf(source) !== undefined)
    const closed = closeSchema(document, idle, Evaluation.schemasApart(document))
    const patternSize = closed.patterns.reduce((sum, source) => sum + patternOf(source)!.size, 0)
    if (closed.unevaluated.length === 0) return { patternSize, check: checkOf(ajv.compile(closed.schema)) }

    const id = `unevaluated-${++count}`
    const checks = new SituatedMap<Validate>()
    evaluating = {
      unevaluated: closed.unevaluated,
      evaluation: new Evaluation(document, {
        isValid: (schema, value, from) => isJsonObject(schema)
          ? checks.get(document.ways!.to(schema, from))!(value) === true : schema !== false,
        matches: (pattern, name) => patternOf(pattern)?.test(name),
        isLoose: (schema) => idle.isLoose(schema),
      }),
    }
    ajv.addSchema(closed.schema, id)
    for (const [place, name] of closed.names.entries()) checks.set(place, ajv.getSchema(`${id}#/$defs/${name}`)!)
    return { patternSize, check: checkOf(ajv.getSchema(id)!) }
  }
}

const checkOf = (validate: Validate) => (value: Json): ValueFault | undefined =>
  validate(value) ? undefined : toFault(validate.errors?.[0])

function toFault(error: AjvError | undefined): ValueFault {
  if (error === undefined) return { path: '', keyword: '', message: 'does not satisfy the schema' }
  const { instancePath: path, keyword, params, message = 'does not satisfy the schema' } = error
  const member = params['missingProperty'] ?? params['additionalProperty'] ?? params['propertyName'] ?? params['member']
  return { path, keyword, message: message + detail(error), ...(typeof member === 'string' && { member }) }
}

/** Details that Ajv's message omits. */
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
