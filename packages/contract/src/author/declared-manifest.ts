import type { JsonObject } from '@bulkhead/kit/json'
import type { ExtensionModule } from './extension.ts'
import { isTypedSchema } from './schema-types.ts'

/**
 * The part of the manifest that the code of an extension declares. Throws an Error that names the schema that cannot be
 * written as JSON Schema. The rest is not checked here: a loader checks the whole manifest.
 */
export function declaredManifest({ tools, env = [], secrets = [], ...module }: ExtensionModule): JsonObject {
  const declared = Object.entries(tools as Readonly<Record<string, DeclaredTool>>)
  const names = [...new Set([...env, ...declared.flatMap(([, tool]) => tool.env ?? [])])]
  const bySecret = new Map([...secrets, ...declared.flatMap(([, tool]) => tool.secrets ?? [])]
    .map((secret) => [typeof secret === 'string' ? secret : secret.name, secret]))
  const { stateSlot, configSchema = sharedConfigSchema(declared) } = module
  const manifest = {
    ...(configSchema !== undefined && { configSchema: jsonSchemaOf(configSchema, 'input', 'configSchema') }),
    ...(stateSlot !== undefined && {
      stateSlot: stateSlot && { ...stateSlot, schema: jsonSchemaOf(stateSlot.schema, 'output', 'stateSlot') },
    }),
    ...(names.length > 0 && { env: names }),
    ...(bySecret.size > 0 && { secrets: [...bySecret.values()] }),
    tools: declared.map(([name, tool]) => toolOf(name, tool)),
  }
  // Functions and undefined members are dropped.
  return JSON.parse(JSON.stringify(manifest)) as JsonObject
}

interface DeclaredTool {
  readonly name?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly env?: readonly string[]
  readonly secrets?: ExtensionModule['secrets']
  readonly configSchema?: unknown
}

/** The schema that the tools declare for their extension. */
function sharedConfigSchema(tools: readonly (readonly [string, DeclaredTool])[]): unknown {
  const [first, ...others] = tools.filter(([, { configSchema }]) => configSchema !== undefined)
  const other = others.find(([, { configSchema }]) => configSchema !== first![1].configSchema)
  if (other === undefined) return first?.[1].configSchema
  throw new Error(
    `The tools "${first![0]}" and "${other[0]}" have different configSchemas. An extension has one: use the same object.`,
  )
}

/** Members that only the code has. */
const CODE: ReadonlySet<string> = new Set(['execute', 'deriveApprovalKey', 'revert', 'stateType', 'configSchema'])

function toolOf(
  name: string, { name: own = name, input, output, env: _, secrets: __, ...rest }: DeclaredTool,
): object {
  if (own !== name) throw new Error(`The tool "${name}" is also named "${own}". Remove its name, or make them equal.`)
  const { label, description, ...others } = rest as Record<string, unknown>
  const keys = Object.fromEntries(Object.entries(others).filter(([key]) => !CODE.has(key)))
  refuseFunctions(name, keys)
  return {
    name, label, description,
    inputSchema: input === undefined ? NO_ARGUMENTS : jsonSchemaOf(input, 'input', `input of ${name}`),
    ...(output !== undefined && { outputSchema: jsonSchemaOf(output, 'output', `output of ${name}`) }),
    ...keys,
  }
}

/** JSON drops functions, so a misspelled one would have no effect. */
function refuseFunctions(name: string, keys: Readonly<Record<string, unknown>>): void {
  const key = Object.keys(keys).find((one) => typeof keys[one] === 'function')
  if (key === undefined) return
  throw new Error(
    `${JSON.stringify(key)} of the tool "${name}" cannot be a function. Its functions are execute, deriveApprovalKey and `
    + 'revert.',
  )
}

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false }

interface Convertible {
  readonly '~standard': {
    readonly jsonSchema?: Record<'input' | 'output', (options: { readonly target: string }) => Record<string, unknown>>
  }
}

/** JSON Schema 2020-12 as it is, or from a library that implements Standard JSON Schema. */
function jsonSchemaOf(schema: unknown, side: 'input' | 'output', what: string): unknown {
  if (!isTypedSchema(schema)) return schema
  const { jsonSchema } = (schema as unknown as Convertible)['~standard']
  if (jsonSchema === undefined) {
    throw new Error(
      `The ${what} cannot be written as JSON Schema. Use zod 4.2 or later, another library that implements `
      + 'Standard JSON Schema, or a JSON Schema.',
    )
  }
  const { $schema: _, ...written } = jsonSchema[side]({ target: 'draft-2020-12' })
  return written
}
