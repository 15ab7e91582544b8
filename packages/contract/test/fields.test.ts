import { describe, expect, it } from 'vitest'
import { anySchema, byteSize, configSchema, objectSchema } from '../src/validation/fields.ts'
import { declaresSetting, unknownSettings, withCommonConfig } from '../src/model/common-config.ts'

describe('schemas inside a manifest', () => {
  it('are of type object for arguments', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: {} } }
    expect(objectSchema.parse(schema)).toEqual(schema)
    const others = [{}, { type: 'array' }, { type: ['object'] }, true, []]
    expect(others.filter((other) => objectSchema.safeParse(other).success)).toEqual([])
  })

  it('are closed for configuration', () => {
    expect(configSchema.safeParse({ type: 'object', additionalProperties: false }).success).toBe(true)
    const others = [{ type: 'object' }, { type: 'object', additionalProperties: true }, { additionalProperties: false }]
    expect(others.filter((other) => configSchema.safeParse(other).success)).toEqual([])
  })

  it('may be any object otherwise', () => {
    expect(anySchema.parse({ oneOf: [] })).toEqual({ oneOf: [] })
    expect(anySchema.safeParse(true).success).toBe(false)
  })
})

const COMMON = {
  enabled: { type: 'boolean', description: 'Whether the tool is offered.' },
  timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000, description: 'Deadline of a call, in milliseconds.' },
  maxTimeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000, description: expect.any(String) },
  maxOutput: {
    type: ['integer', 'string'], minimum: 1, maximum: 9_999_999_999, pattern: expect.any(String) as string,
    description: expect.any(String),
  },
  maxEntries: { type: 'integer', minimum: 1, maximum: 100_000, description: expect.any(String) },
}

describe('the keys that every configuration accepts', () => {
  it('are added, except those that the schema defines itself', () => {
    const own = { type: 'object', additionalProperties: false, properties: { timeoutMs: { const: 5 }, unit: {} },
      required: ['unit'] }
    expect(withCommonConfig(own))
      .toEqual({ ...own, properties: { ...COMMON, timeoutMs: { const: 5 }, unit: {} } })
    expect(withCommonConfig({ type: 'object', additionalProperties: false })).toEqual({
      type: 'object', additionalProperties: false, properties: COMMON,
    })
  })

  it('are known, and so are those of the extension', () => {
    const own = { type: 'object', additionalProperties: false, properties: { unit: {} } }
    expect(unknownSettings(own, { unit: 1, maxOutput: 2, timeoutMs: 3, toString: 4, maxOuput: 5 }))
      .toEqual(['toString', 'maxOuput'])
    expect(unknownSettings({ ...own, patternProperties: { '^x': {} } }, { xy: 1 })).toEqual([])
    expect([declaresSetting(own, 'unit'), declaresSetting(own, 'maxOutput')]).toEqual([true, false])
  })

  it('do not change the schema', () => {
    const own = Object.freeze({ type: 'object', properties: Object.freeze({}) })
    expect(() => withCommonConfig(own)).not.toThrow()
  })
})

describe('a size in bytes', () => {
  it.each<number | string>([1, '1', '7B', '200KB', '2MB', 4096])('accepts %j', (size) => {
    expect(byteSize.parse(size)).toBe(size)
  })

  it.each([
    0, -1, 1.5, '', '0', '0KB', '1.5KB', '1 KB', '1kb', '1GB', 'KB', '-1KB', '1KB\n', '12345678901', '1e3', Number.NaN,
    null,
  ])('rejects %j', (size) => {
    expect(byteSize.safeParse(size).success).toBe(false)
  })
})
