import { z } from 'zod'
import type { JsonObject } from '@bulkhead/kit/json'

/** A JSON Schema 2020-12 for an object. Compiled under limits by whoever uses it; here only its outline is checked. */
export const objectSchema = z.looseObject({ type: z.literal('object').describe('Always object.') }).describe('A JSON Schema (2020-12) of type object.') as unknown as z.ZodType<JsonObject>
export const anySchema = z.looseObject({}).describe('A JSON Schema (2020-12).') as unknown as z.ZodType<JsonObject>

/** For the configuration of extensions and tools: closed, and open to what every tool accepts. */
export const configSchema = z.looseObject({
  type: z.literal('object').describe('Always object.'),
  additionalProperties: z.literal(false).describe('Always false: an unknown key is refused.'),
}).describe('A JSON Schema (2020-12) of type object with additionalProperties false.') as unknown as z.ZodType<JsonObject>

/** Keys every tool configuration accepts besides its own. */
export const COMMON_CONFIG_PROPERTIES: JsonObject = {
  enabled: { type: 'boolean', description: 'Whether the tool is offered.' },
  timeoutMs: { type: 'integer', minimum: 1, description: 'Deadline of a call, in milliseconds.' },
}

/** A configSchema with the common keys added where it does not define them itself. */
export function withCommonConfig(schema: JsonObject): JsonObject {
  const properties = typeof schema['properties'] === 'object' && schema['properties'] !== null ? (schema['properties'] as JsonObject) : {}
  return { ...schema, properties: { ...COMMON_CONFIG_PROPERTIES, ...properties } }
}
