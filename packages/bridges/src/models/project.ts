import type { ToolDefinition } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { looseSchema } from './loose-schema.ts'
import { argumentNames } from './names.ts'
import type { ModelProfile } from './profiles.ts'
import { Projector, Unfit, type Loss, type MutableSchema } from './projector.ts'
import { limitFault } from './strict-limits.ts'

export type { Loss, MutableSchema } from './projector.ts'

/** The schema of a tool as it is sent to a provider. */
export interface Projection {
  /** A copy that an SDK may change. */
  readonly schema: MutableSchema
  /** Whether the provider is asked to enforce it. */
  readonly strict: boolean
  /** What the provider does not enforce or the model cannot send. The host validates with the full schema anyway. */
  readonly losses: readonly Loss[]
  /** Why the schema is not strict. */
  readonly reason?: string
}

/**
 * The strict form of a schema: every object is closed, and every property is required if the profile demands it. A
 * schema that cannot be strict without losing its meaning is sent as it is, with a reason.
 */
export function project(schema: JsonObject, profile: ModelProfile): Projection {
  try {
    const projector = new Projector(schema, profile.schemas)
    const projected = projector.root()
    const fault = profile.schemas.strict ? limitFault(projected, profile.schemas.limits) : undefined
    if (fault !== undefined) return loose(schema, fault)
    return { schema: projected, strict: profile.schemas.strict, losses: projector.losses }
  } catch (error) {
    if (error instanceof Unfit) return loose(schema, error.message)
    throw error
  }
}

/** The schema of a tool. Remote tools are never strict: they validate for themselves, and closing is up to them. */
export function projectTool(
  tool: Pick<ToolDefinition, 'inputSchema' | 'executor'>, profile: ModelProfile, strict: boolean,
): Projection {
  const projection = formOf(tool, profile, strict)
  const names = argumentNames(tool.inputSchema, profile)
  return names === undefined ? projection : { ...projection, schema: renamed(projection.schema, names.outward) }
}

function formOf(
  { inputSchema, executor }: Pick<ToolDefinition, 'inputSchema' | 'executor'>, profile: ModelProfile, strict: boolean,
): Projection {
  if (!profile.schemas.strict) return project(inputSchema, profile)
  if (!strict) return loose(inputSchema, 'strict was not requested')
  return executor === 'remote' ? loose(inputSchema, 'the tool is remote') : project(inputSchema, profile)
}

/** Renames arguments that the provider does not accept, such as `filter[name]`. `toHostCall` renames them back. */
function renamed(schema: MutableSchema, rename: (name: string) => string): MutableSchema {
  const { properties, required } = schema as JsonObject
  const entries = Object.entries(isJsonObject(properties) ? properties : {})
  return {
    ...schema, properties: Object.fromEntries(entries.map(([name, property]) => [rename(name), property])),
    ...(Array.isArray(required) && { required: (required as readonly string[]).map(rename) }),
  }
}

const loose = (schema: JsonObject, reason: string): Projection => ({ ...looseSchema(schema), strict: false, reason })
