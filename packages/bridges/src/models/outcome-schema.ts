import type { JsonObject } from '@bulkhead/kit/json'

/** The schema of the outcome of a tool, whose data satisfies the outputSchema of the tool. */
export const outcomeSchema = (data: JsonObject): JsonObject => ({
  anyOf: [
    {
      type: 'object', required: ['type', 'data'],
      properties: { type: { const: 'output' }, data: structuredClone(data) },
    },
    {
      type: 'object', required: ['type', 'error_text'],
      properties: { type: { const: 'error' }, error_text: { type: 'string' } },
    },
  ],
})
