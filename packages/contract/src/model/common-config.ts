import type { JsonObject } from '@bulkhead/kit/json'
import { CALL_LIMITS } from './limits.ts'
import { MOST_BYTES, MOST_ENTRIES, SIZE_PATTERN } from './sizes.ts'

export { byteSize } from './sizes.ts'

/** Keys that every tool configuration accepts besides its own. */
const COMMON_CONFIG_PROPERTIES: JsonObject = {
  enabled: { type: 'boolean', description: 'Whether the tool is offered.' },
  timeoutMs: {
    type: 'integer', minimum: 1, maximum: CALL_LIMITS.maxTimeoutMs, description: 'Deadline of a call, in milliseconds.',
  },
  maxTimeoutMs: {
    type: 'integer', minimum: 1, maximum: CALL_LIMITS.maxTimeoutMs,
    description: 'The longest timeout_ms that a call of bash or test_runner may ask for, in milliseconds.',
  },
  maxOutput: {
    type: ['integer', 'string'], minimum: 1, maximum: MOST_BYTES, pattern: SIZE_PATTERN.source,
    description: 'How much of a result the model sees, in bytes or as in 200KB; the rest goes to a file.',
  },
  maxEntries: {
    type: 'integer', minimum: 1, maximum: MOST_ENTRIES,
    description: 'How many entries of each list in a result the model sees; the rest goes to a file.',
  },
}

/** Adds the common keys to a configSchema, except those that it defines itself. */
export function withCommonConfig(schema: JsonObject): JsonObject {
  return { ...schema, properties: { ...COMMON_CONFIG_PROPERTIES, ...propertiesOf(schema) } }
}

/** Whether the extension declares the key, so that the host does not read it. */
export const declaresSetting = (schema: JsonObject, key: string): boolean => Object.hasOwn(propertiesOf(schema), key)

/** Keys of the configuration of a tool that neither the host nor the extension knows. They have no effect. */
export function unknownSettings(schema: JsonObject, config: JsonObject): readonly string[] {
  const known = withCommonConfig(schema)['properties'] as JsonObject
  return 'patternProperties' in schema ? [] : Object.keys(config).filter((key) => !Object.hasOwn(known, key))
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return typeof properties === 'object' && properties !== null ? properties as JsonObject : {}
}
