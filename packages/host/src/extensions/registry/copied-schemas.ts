import type { ToolDefinition } from '@bulkhead/contract'

/**
 * A definition to hand out. Its schemas are copies, made anew whenever one is read: other libraries mark, complete or prune what
 * they are given, and fail where it is frozen. What a call is checked with stays as it was registered.
 */
export function withCopiedSchemas<Definition extends ToolDefinition>(definition: Definition): Definition {
  const { inputSchema, outputSchema } = definition
  const copy = { ...definition }
  Object.defineProperty(copy, 'inputSchema', { get: () => structuredClone(inputSchema) })
  if (outputSchema !== undefined) Object.defineProperty(copy, 'outputSchema', { get: () => structuredClone(outputSchema) })
  return copy
}
