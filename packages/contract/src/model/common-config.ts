import type { JsonObject } from '@bulkhead/kit/json'
import { CALL_LIMITS } from './limits.ts'

/** Keys that every tool configuration accepts besides its own. */
const COMMON_CONFIG_PROPERTIES: JsonObject = {
  enabled: { type: 'boolean', description: 'Whether the tool is offered.' },
  timeoutMs: {
    type: 'integer', minimum: 1, maximum: CALL_LIMITS.maxTimeoutMs, description: 'Deadline of a call, in milliseconds.',
  },
}

/** Adds the common keys to a configSchema, except those that it defines itself. */
export function withCommonConfig(schema: JsonObject): JsonObject {
  const { properties } = schema
  const own = typeof properties === 'object' && properties !== null ? properties as JsonObject : {}
  return { ...schema, properties: { ...COMMON_CONFIG_PROPERTIES, ...own } }
}
