import { describe, expect, it } from 'vitest'
import { anySchema, COMMON_CONFIG_PROPERTIES, configSchema, objectSchema, withCommonConfig } from '../src/validation/fields.ts'

describe('schemas inside a manifest', () => {
  it('are of type object where arguments are described', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: {} } }
    expect(objectSchema.parse(schema)).toEqual(schema)
    const others = [{}, { type: 'array' }, { type: ['object'] }, true, []]
    expect(others.filter((other) => objectSchema.safeParse(other).success)).toEqual([])
  })

  it('are closed where configuration is described', () => {
    expect(configSchema.safeParse({ type: 'object', additionalProperties: false }).success).toBe(true)
    const others = [{ type: 'object' }, { type: 'object', additionalProperties: true }, { additionalProperties: false }]
    expect(others.filter((other) => configSchema.safeParse(other).success)).toEqual([])
  })

  it('are any object elsewhere', () => {
    expect(anySchema.parse({ oneOf: [] })).toEqual({ oneOf: [] })
    expect(anySchema.safeParse(true).success).toBe(false)
  })
})

describe('what every configuration accepts', () => {
  it('is added, and the schema’s own definition kept', () => {
    const own = { type: 'object', additionalProperties: false, properties: { timeoutMs: { const: 5 }, unit: {} },
      required: ['unit'] }
    expect(withCommonConfig(own))
      .toEqual({ ...own, properties: { enabled: COMMON_CONFIG_PROPERTIES['enabled'], timeoutMs: { const: 5 }, unit: {} } })
    expect(withCommonConfig({ type: 'object', additionalProperties: false })).toEqual({
      type: 'object', additionalProperties: false, properties: COMMON_CONFIG_PROPERTIES,
    })
  })

  it('does not change the schema it is added to', () => {
    const own = Object.freeze({ type: 'object', properties: Object.freeze({}) })
    expect(() => withCommonConfig(own)).not.toThrow()
  })
})
