import { CALL_LIMITS, classifyToolMode, hasEffects, type ToolManifest } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { textOf, type PackageFacts } from './package.ts'
import { firstFact, firstOf, type Requirement } from './requirement.ts'
import { validatorOf } from './target.ts'

const SPEC = 'docs/reference/manifest.md'
const PUBLISHING = 'docs/guides/publishing.md'

/** A requirement on each tool of the manifest. */
const eachTool = (evidence: (tool: ToolManifest, facts: PackageFacts) => string | undefined | false) =>
  (facts: PackageFacts): string | undefined =>
    firstFact(facts.extension.manifest.tools.map((tool) => ({ tool })), ({ tool }) => evidence(tool, facts))

const propertiesOf = (schema: Json | undefined): JsonObject =>
  isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {}

/** Calls `visit` with each subschema of the properties and items, and its path. */
function firstSchema(
  schema: Json | undefined, visit: (schema: JsonObject, path: string, depth: number) => string | undefined | false,
  path = '', depth = 0,
): string | undefined {
  if (!isJsonObject(schema) || depth > 64) return undefined
  const found = visit(schema, path, depth)
  if (found) return found
  const inner = [
    ...Object.entries(propertiesOf(schema)).map(([name, part]) => [`${path}/${name}`, part] as const),
    [`${path}/*`, schema['items']] as const,
    ...['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
      Array.isArray(schema[key]) ? (schema[key] as readonly Json[]).map((part) => [path, part] as const) : []),
  ]
  return firstOf(inner, ([at, part]) => firstSchema(part, visit, at, depth + 1))
}

const inInput = (visit: Parameters<typeof firstSchema>[1]) =>
  eachTool(({ inputSchema }) => firstSchema(inputSchema, visit))

const MIN_DESCRIPTION = 20
const MOST_TOOLS = 32
const MOST_DEPTH = 8
const MOST_PROPERTIES = 24
const MOST_SCHEMA_CHARS = 16_384
const LONG_TIMEOUT_MS = 10 * 60_000

export const MANIFEST_REQUIREMENTS: readonly Requirement<PackageFacts>[] = [
  {
    id: 'manifest-warnings', level: 'must', spec: SPEC,
    statement: 'The texts of the manifest have no hidden characters and no instructions to models.',
    why: 'A model must see the same text as a person, and a description is no prompt.',
    cure: 'Describe what the tool does. Leave out what the model should do.',
    check: ({ warnings }) => warnings.find((text) => text.startsWith('The text at')),
  },
  {
    id: 'manifest-schema', level: 'should', spec: SPEC,
    statement: 'The manifest names its JSON Schema.',
    why: 'Editors complete and check it.',
    cure: 'Add "$schema".',
    check: ({ written }) => written['$schema'] === undefined ? 'there is no "$schema"' : undefined,
  },
  {
    id: 'manifest-title', level: 'should', spec: SPEC,
    statement: 'The extension has a title for people.',
    why: 'Prompts and lists show it.',
    cure: 'Add "title".',
    check: ({ extension: { manifest: { title } } }) => title === undefined ? 'there is no title' : undefined,
  },
  {
    id: 'manifest-description', level: 'should', spec: SPEC,
    statement: 'The extension has a description for people.',
    why: 'A person reads it before an installation.',
    cure: 'Add "description".',
    check: ({ extension: { manifest: { description } } }) =>
      (description ?? '').length < MIN_DESCRIPTION ? `it has ${(description ?? '').length} characters` : undefined,
  },
  {
    id: 'manifest-core-range', level: 'must', spec: SPEC,
    statement: 'requiredCoreVersion excludes the next major version of the host.',
    why: 'A major version may remove what the extension uses.',
    cure: 'Use a range such as ^1.0.0.',
    check: ({ extension: { manifest: { requiredCoreVersion: range } } }) =>
      /^\s*(?:\*|x|>=?[^<|]*|latest)\s*$/i.test(range) ? `${JSON.stringify(range)} has no upper end` : undefined,
  },
  {
    id: 'manifest-version', level: 'must', spec: SPEC,
    statement: 'The version is greater than 0.0.0.',
    why: 'Every update must have a greater one.',
    cure: 'Begin with 0.1.0.',
    check: ({ extension: { version } }) => version.startsWith('0.0.0') ? `it is ${version}` : undefined,
  },
  {
    id: 'manifest-build', level: 'should', spec: SPEC,
    statement: 'The version has no build metadata.',
    why: 'Two versions that differ in it only are equal for semver.',
    cure: 'Raise the patch version instead.',
    check: ({ extension: { version } }) => version.includes('+') ? `it is ${version}` : undefined,
  },
  {
    id: 'tools-count', level: 'should', spec: PUBLISHING,
    statement: `The extension has at most ${MOST_TOOLS} tools.`,
    why: 'Each tool costs a model attention with every message.',
    cure: 'Join tools that differ in one argument, or publish several extensions.',
    check: ({ extension: { manifest: { tools } } }) => tools.length > MOST_TOOLS ? `it has ${tools.length}` : undefined,
  },
  {
    id: 'tool-description', level: 'must', spec: PUBLISHING,
    statement: `The description of a tool has at least ${MIN_DESCRIPTION} characters and is not its name.`,
    why: 'A model chooses a tool by its description.',
    cure: 'Say what it does, what it returns, and when to use it.',
    check: eachTool(({ name, description }) => (description.length < MIN_DESCRIPTION || description === name)
      && `the description is ${JSON.stringify(description)}`),
  },
  {
    id: 'tool-name', level: 'should', spec: PUBLISHING,
    statement: 'The name of a tool is lower case, with _ or - between words.',
    why: 'Some models change the case of names.',
    cure: 'Use a name such as read_calendar.',
    check: eachTool(({ name }) => !/^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*$/.test(name) && 'its name has another form'),
  },
  {
    id: 'tool-timeout', level: 'should', spec: SPEC,
    statement: 'A tool has a timeout of at most ten minutes.',
    why: 'An agent and its user wait.',
    cure: 'Do less in a call, and report progress.',
    check: eachTool(({ timeoutMs = CALL_LIMITS.defaultTimeoutMs }) => timeoutMs > LONG_TIMEOUT_MS && `${timeoutMs} ms`),
  },
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
    check: inInput((schema, path) =>
      path !== '' && TYPES.every((key) => schema[key] === undefined) && `${path} has none`),
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
    check: inInput((schema, path) => {
      const { default: value, ...rest } = schema
      const fault = value === undefined || schema['$ref'] !== undefined ? undefined : validatorOf(rest)(value)
      return fault && `${path}: ${JSON.stringify(value)}, but ${fault}`
    }),
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
    id: 'mode-declared', level: 'must', spec: SPEC,
    statement: 'The declared mode is not milder than what the tool may do.',
    why: 'Hosts and people rely on it to ask.',
    cure: 'Declare the mode that fits, or remove it: the host derives it.',
    check: eachTool(({ name, mode, requires }) => {
      const derived = classifyToolMode({ name, requires })
      return mode === 'read' && hasEffects(requires) && `it says read, and its requirements make it ${derived}`
    }),
  },
  {
    id: 'gated-effects', level: 'must', spec: SPEC,
    statement: 'A tool with effects is gated.',
    why: 'The host gates it anyway, and the manifest would say something else.',
    cure: 'Remove "gated": false.',
    check: eachTool(({ gated, requires }) => !gated && hasEffects(requires) && 'it is not gated'),
  },
  {
    id: 'approval-key-declared', level: 'should', spec: 'docs/guides/approvals.md',
    statement: 'A tool with effects and arguments has an approval key.',
    why: 'Otherwise one approval covers every call of the tool.',
    cure: 'Add "approvalKey", such as "{path}", or deriveApprovalKey in code.',
    check: eachTool(({ approvalKey, requires, inputSchema }, { files }) => approvalKey === undefined
      && hasEffects(requires) && Object.keys(propertiesOf(inputSchema)).length > 0
      && !files.values().some((bytes) => textOf(bytes).includes('deriveApprovalKey'))
      && 'it has none'),
  },
  {
    id: 'power-files', level: 'should', spec: PUBLISHING,
    statement: 'A tool does not write the whole workspace.',
    why: 'A person has to trust it with every file.',
    cure: 'Name the folder or the kind of file, such as {workspace}/reports/**.',
    check: eachTool(({ requires }) =>
      requires.fs?.write?.find((pattern) => /^(?:\{workspace\}\/)?\*\*(?:\/\*)?$/.test(pattern))),
  },
  {
    id: 'power-hosts', level: 'must', spec: PUBLISHING,
    statement: 'A tool does not reach every host.',
    why: 'It could send anything anywhere.',
    cure: 'Name the hosts.',
    check: eachTool(({ requires }) => requires.net?.hosts?.find((host) => host === '*' || host.startsWith('*:'))),
  },
  {
    id: 'power-credentials', level: 'must', spec: PUBLISHING,
    statement: 'Credentials are secrets, not environment variables.',
    why: 'Code sees the value of a variable. It never sees that of a secret.',
    cure: 'Move the name from "env" to "secrets", with the hosts it may go to.',
    check: ({ extension: { manifest: { env } } }) => env.find((name) => CREDENTIAL_NAME.test(name)),
  },
]

const TYPES = ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'] as const
const CREDENTIAL_NAME =
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(?:_|$|\d)|^AWS_|^GOOGLE_APPLICATION/
