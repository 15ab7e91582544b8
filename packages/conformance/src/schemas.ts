import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import {
  hasOwnType, propertiesOf, readSchema, subschemasOf, type SchemaDocument, type SchemaFault,
} from '@bulkhead/kit/schema'
import { eachTool } from './manifest.ts'
import type { PackageFacts } from './package.ts'
import { firstOf, type Requirement } from './requirement.ts'
import { patternFault, validatorOf } from './validators.ts'

const SPEC = 'docs/reference/manifest.md'
const PUBLISHING = 'docs/guides/publishing.md'

const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []

type Visit = (schema: JsonObject, path: string, depth: number) => string | undefined | false

/** Keywords that describe what a model sends, and what they add to the path. */
const STEPS: Readonly<Record<string, (key: unknown) => string>> = {
  properties: (name) => `/${String(name)}`, items: () => '/*', anyOf: () => '', oneOf: () => '', allOf: () => '',
}

/** Calls `visit` with each subschema of these keywords, and its path. */
function firstSchema(schema: Json | undefined, visit: Visit, path = '', depth = 0): string | undefined {
  if (!isJsonObject(schema) || depth > 64) return undefined
  const found = visit(schema, path, depth)
  if (found) return found
  return firstOf(subschemasOf(schema), ({ keyword, key, schema: part }) =>
    Object.hasOwn(STEPS, keyword) ? firstSchema(part, visit, path + STEPS[keyword]!(key), depth + 1) : undefined)
}

const inInput = (visit: Visit) => eachTool(({ inputSchema }) => firstSchema(inputSchema, visit))
const inConfig = (visit: Visit) => ({ extension: { manifest } }: PackageFacts): string | undefined =>
  firstSchema(manifest.configSchema, visit)

/** The first part that is found in a schema of the manifest. */
const inDocuments = (find: (document: SchemaDocument, isOutput: boolean) => readonly SchemaFault[]) =>
  ({ extension: { manifest: { tools, configSchema, stateSlot } } }: PackageFacts): string | undefined => {
    const schemas: readonly (readonly [string, JsonObject | undefined, boolean?])[] = [
      ...tools.flatMap(({ name, inputSchema, outputSchema }) =>
        [[`${name}, inputSchema`, inputSchema], [`${name}, outputSchema`, outputSchema, true]] as const),
      ['configSchema', configSchema], ['stateSlot', stateSlot?.schema],
    ]
    return firstOf(schemas, ([name, schema, isOutput = false]) => {
      const reading = schema && readSchema(schema, { patternFault })
      const [first] = reading?.ok ? find(reading.document, isOutput) : []
      return first && `${name}: ${first.path} ${first.message}`
    })
  }

const isUntyped = (schema: JsonObject, path: string): boolean => path !== '' && !hasOwnType(schema)

/** The first of these values that does not satisfy the schema. */
function firstFault(values: readonly Json[], schema: JsonObject, path: string): string | undefined {
  // A reference leads out of this part of the schema.
  if (values.length === 0 || schema['$ref'] !== undefined) return undefined
  const check = validatorOf(schema)
  return firstOf(values, (value) => {
    const fault = check(value)
    return fault && `${path}: ${JSON.stringify(value)}, but ${fault}`
  })
}

const CREDENTIAL_KEY =
  /(?:^|_)(?:api_?key|access_?key|private_?key)$|(?:[tT]oken|[sS]ecret|[pP]assword|(?:api|access|private)Key)$/
const MOST_DEPTH = 8
const MOST_PROPERTIES = 24
const MOST_SCHEMA_CHARS = 16_384

export const SCHEMA_REQUIREMENTS: readonly Requirement<PackageFacts>[] = [
  {
    id: 'input-closed', level: 'must', spec: PUBLISHING,
    statement: 'The inputSchema has additionalProperties: false.',
    why: 'A misspelled argument would be ignored.',
    cure: 'Add "additionalProperties": false.',
    check: eachTool(({ inputSchema: { additionalProperties, unevaluatedProperties } }) =>
      additionalProperties !== false && unevaluatedProperties !== false && 'unknown members are accepted'),
  },
  {
    id: 'input-described', level: 'should', spec: PUBLISHING,
    statement: 'Every argument has a description.',
    why: 'A model fills it in by its description.',
    cure: 'Add "description" to each property.',
    check: inInput((schema, path) => path !== '' && !path.endsWith('/*') && schema['description'] === undefined
      && schema['$ref'] === undefined && `${path} has none`),
  },
  {
    id: 'input-typed', level: 'must', spec: PUBLISHING,
    statement: 'Every argument has a type.',
    why: 'Without one a model may send anything.',
    cure: 'Add "type", "enum" or "const".',
    check: inInput((schema, path) => isUntyped(schema, path) && `${path} has none`),
  },
  {
    id: 'input-required', level: 'must', spec: PUBLISHING,
    statement: 'Each name in "required" is a property.',
    why: 'The model cannot know what to send.',
    cure: 'Describe the property, or remove the name.',
    check: inInput((schema) => {
      const known = propertiesOf(schema)
      const missing = (Array.isArray(schema['required']) ? schema['required'] as readonly Json[] : [])
        .find((name) => typeof name === 'string' && !Object.hasOwn(known, name))
      return missing !== undefined && schema['properties'] !== undefined && `"${String(missing)}" is not described`
    }),
  },
  {
    id: 'input-bounded', level: 'should', spec: PUBLISHING,
    statement: 'Numbers and lists have limits.',
    why: 'A model can ask for a million of them.',
    cure: 'Add maximum or maxItems.',
    check: inInput((schema, path) => {
      const isNumber = schema['type'] === 'number' || schema['type'] === 'integer'
      const hasMaximum = schema['maximum'] !== undefined || schema['exclusiveMaximum'] !== undefined
      if (isNumber && !hasMaximum) return `${path} has no maximum`
      return schema['type'] === 'array' && schema['maxItems'] === undefined && `${path} has no maxItems`
    }),
  },
  {
    id: 'input-defaults', level: 'must', spec: PUBLISHING,
    statement: 'A default satisfies its own schema.',
    why: 'Models copy it.',
    cure: 'Correct the default.',
    check: inInput(({ default: value, ...rest }, path) => firstFault(value === undefined ? [] : [value], rest, path)),
  },
  {
    id: 'input-depth', level: 'should', spec: PUBLISHING,
    statement: `The inputSchema is nested at most ${MOST_DEPTH} deep.`,
    why: 'Models make mistakes in deep structures.',
    cure: 'Flatten the arguments.',
    check: inInput((_, path, depth) => depth > MOST_DEPTH && `${path} is ${depth} deep`),
  },
  {
    id: 'input-members', level: 'should', spec: PUBLISHING,
    statement: `A tool has at most ${MOST_PROPERTIES} arguments.`,
    why: 'Models confuse them.',
    cure: 'Split the tool, or group arguments.',
    check: eachTool(({ inputSchema }) => Object.keys(propertiesOf(inputSchema)).length > MOST_PROPERTIES
      && `it has ${Object.keys(propertiesOf(inputSchema)).length}`),
  },
  {
    id: 'input-size', level: 'should', spec: PUBLISHING,
    statement: `The inputSchema has at most ${MOST_SCHEMA_CHARS} characters.`,
    why: 'It is sent to the model with every message.',
    cure: 'Shorten descriptions and lists of values.',
    check: eachTool(({ inputSchema }) => JSON.stringify(inputSchema).length > MOST_SCHEMA_CHARS
      && `it has ${JSON.stringify(inputSchema).length}`),
  },
  {
    id: 'output-declared', level: 'should', spec: PUBLISHING,
    statement: 'A tool declares its outputSchema.',
    why: 'Programs and models know then what to expect.',
    cure: 'Add "outputSchema".',
    check: eachTool(({ outputSchema }) => outputSchema === undefined && 'there is none'),
  },
  {
    id: 'config-described', level: 'should', spec: SPEC,
    statement: 'Every configuration key has a description.',
    why: 'An operator has to fill it in.',
    cure: 'Add "description" to each property of the configSchema.',
    check: ({ extension: { manifest: { configSchema: all } } }) => firstOf(Object.entries(propertiesOf(all)), (
      [name, schema],
    ) => isJsonObject(schema) && schema['description'] === undefined ? `"${name}" has none` : undefined),
  },
  {
    id: 'input-examples', level: 'must', spec: PUBLISHING,
    statement: 'Each value in "examples" of a schema satisfies it.',
    why: 'Models copy it.',
    cure: 'Correct the example.',
    check: inInput(({ examples, ...rest }, path) => firstFault(listOf(examples), rest, path)),
  },
  {
    id: 'input-enum', level: 'must', spec: PUBLISHING,
    statement: 'Each value of an enum satisfies the keywords beside it.',
    why: 'No call with this value is valid.',
    cure: 'Correct the type, or remove the value.',
    check: inInput(({ enum: values, ...rest }, path) => firstFault(listOf(values), rest, path)),
  },
  {
    id: 'input-names', level: 'should', spec: PUBLISHING,
    statement: 'The name of an argument is a plain identifier, and no member of every object.',
    why: 'Names such as __proto__ change objects, and models misspell unusual characters.',
    cure: 'Use letters, digits and _, such as start_date.',
    check: inInput((schema, path) => {
      const odd = Object.keys(propertiesOf(schema))
        .find((name) => !/^[A-Za-z][\w-]{0,63}$/.test(name) || name in Object.prototype)
      return odd !== undefined && `${path}/${odd}`
    }),
  },
  {
    id: 'input-format', level: 'should', spec: PUBLISHING,
    statement: 'A string with a format also has a pattern.',
    why: 'Hosts do not check "format".',
    cure: 'Add "pattern", or check the value in the tool.',
    check: inInput((schema, path) => schema['format'] !== undefined && schema['pattern'] === undefined
      && schema['enum'] === undefined && `${path} has the format ${JSON.stringify(schema['format'])} only`),
  },
  {
    id: 'input-pattern', level: 'should', spec: PUBLISHING,
    statement: 'A pattern begins with ^ and ends with $.',
    why: 'It matches a part of the string otherwise, and the rest can be anything.',
    cure: 'Write ^(?:…)$.',
    check: inInput((schema, path) => typeof schema['pattern'] === 'string'
      && !/^\^[\s\S]*\$$/.test(schema['pattern']) && `${path} has ${JSON.stringify(schema['pattern'])}`),
  },
  {
    id: 'schema-keywords', level: 'should', spec: SPEC,
    statement: 'The schemas have known keywords only, or begin them with x-.',
    why: 'A misspelled keyword has no effect.',
    cure: 'Correct the keyword.',
    check: inDocuments(({ unknownKeywords }) => unknownKeywords),
  },
  {
    id: 'schema-patterns', level: 'must', spec: PUBLISHING,
    statement: 'Every pattern can be enforced.',
    why: 'Hosts ignore a pattern that is invalid or cannot run in linear time.',
    cure: 'Write it in the syntax of ECMAScript, without look-around and back references.',
    // Results are not checked against their schema.
    check: inDocuments(({ idlePatterns }, isOutput) => isOutput ? [] : idlePatterns),
  },
  {
    id: 'output-specific', level: 'should', spec: PUBLISHING,
    statement: 'The outputSchema of an object names its members.',
    why: 'A reader learns nothing from "an object".',
    cure: 'Add "properties".',
    check: eachTool(({ outputSchema }) => outputSchema?.['type'] === 'object'
      && !['properties', 'additionalProperties', '$ref', 'anyOf', 'oneOf', 'allOf'].some((key) => key in outputSchema)
      && 'it names none'),
  },
  {
    id: 'config-typed', level: 'must', spec: SPEC,
    statement: 'Every configuration key has a type.',
    why: 'The host cannot reject a wrong value otherwise.',
    cure: 'Add "type", "enum" or "const".',
    check: inConfig((schema, path) => isUntyped(schema, path) && `${path} has none`),
  },
  {
    id: 'config-defaults', level: 'must', spec: SPEC,
    statement: 'A default of the configSchema satisfies its own schema.',
    why: 'Operators copy it.',
    cure: 'Correct the default.',
    check: inConfig(({ default: value, ...rest }, path) => firstFault(value === undefined ? [] : [value], rest, path)),
  },
  {
    id: 'config-credentials', level: 'must', spec: PUBLISHING,
    statement: 'No configuration key holds a credential.',
    why: 'Configuration is kept in plain files, and the code sees the value.',
    cure: 'Declare it in "secrets", with the hosts it may go to.',
    check: inConfig((schema) => Object.keys(propertiesOf(schema)).find((name) => CREDENTIAL_KEY.test(name))),
  },
  {
    id: 'state-typed', level: 'should', spec: SPEC,
    statement: 'The schema of the state describes it.',
    why: 'The host checks stored state with it before another version reads it.',
    cure: 'Add "type" and "properties" to the schema of stateSlot.',
    check: ({ extension: { manifest: { stateSlot } } }) => stateSlot !== null && !hasOwnType(stateSlot.schema)
      ? 'it accepts anything' : undefined,
  },
]
