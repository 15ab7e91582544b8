import type { ToolDefinition } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { toFunctionTools } from '../../src/openai/index.ts'

const forecast: ToolDefinition = {
  name: 'forecast', label: 'Forecast', description: 'Tells the weather.', requires: {}, mode: 'external', kind: 'fetch',
  gated: true, idempotent: true, effects: 'idempotent',
  executor: 'local',
  inputSchema: {
    type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'],
  },
}

describe('tools for OpenAI-compatible APIs', () => {
  it('keeps name, description and schema', () => {
    expect(toFunctionTools([forecast])).toEqual([
      {
        type: 'function',
        function: { name: 'forecast', description: 'Tells the weather.', parameters: forecast.inputSchema },
      },
    ])
  })

  it('closes the schema in strict mode and makes optional arguments nullable', () => {
    const [tool] = toFunctionTools([forecast], { strict: true })
    expect(tool?.function).toEqual({
      name: 'forecast',
      description: 'Tells the weather.',
      strict: true,
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
        required: ['city', 'days'],
        additionalProperties: false,
      },
    })
  })

  it('moves the rest of a long description into the schema, because the API limits its length', () => {
    const description = 'x'.repeat(1025)
    const [tool] = toFunctionTools([{ ...forecast, description }], { strict: true })
    expect(tool?.function.description).toBe(`${'x'.repeat(1023)}…`)
    expect(tool?.function.parameters['description']).toBe(description)
  })

  it('does not change remote tools in strict mode', () => {
    const [tool] = toFunctionTools([{ ...forecast, executor: 'remote' }], { strict: true })
    expect(tool?.function).not.toHaveProperty('strict')
    expect(tool?.function.parameters).toEqual(forecast.inputSchema)
  })

  it.each([false, true])('returns schemas that an SDK may change, strict: %s', (strict) => {
    const city = Object.freeze({ type: 'string' })
    const inputSchema = Object.freeze({
      type: 'object', properties: Object.freeze({ city }), required: Object.freeze(['city']),
    })
    const [tool] = toFunctionTools([{ ...forecast, inputSchema }], { strict })
    Object.assign((tool!.function.parameters['properties'] as { city: object }).city, { type: 'number' })
    expect(city).toEqual({ type: 'string' })
  })
})
