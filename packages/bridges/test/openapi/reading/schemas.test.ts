import { describe, expect, it } from 'vitest'
import { operation, schemaOf } from './read.ts'

describe('schemas', () => {
  const schema = (written: object, components: object = {}, openapi = '3.1.0') =>
    operation(
      { requestBody: { content: { 'application/json': { schema: written } } } },
      { openapi, components: { schemas: components } },
    )
  const bodyOf = (api: ReturnType<typeof schema>) => (schemaOf(api)['properties'] as Record<string, unknown>)['body']

  it('are defined once if they are recursive', () => {
    const api = schema(
      { $ref: '#/components/schemas/Node' },
      {
        Node: {
          type: 'object',
          properties: {
            next: { $ref: '#/components/schemas/Node' }, leaf: { $ref: '#/components/schemas/Leaf' },
            part: { $ref: '#/components/schemas/Leaf/properties/of' },
          },
        },
        Leaf: { type: 'object', properties: { of: { $ref: '#/components/schemas/Node' } } },
      },
    )
    expect(bodyOf(api)).toEqual({ $ref: '#/$defs/Node' })
    expect(schemaOf(api)['$defs']).toEqual({
      Node: {
        type: 'object',
        properties: { next: { $ref: '#/$defs/Node' }, leaf: { $ref: '#/$defs/Leaf' }, part: { $ref: '#/$defs/of' } },
      },
      Leaf: { type: 'object', properties: { of: { $ref: '#/$defs/Node' } } }, of: { $ref: '#/$defs/Node' },
    })
  })

  it('get different definitions if they have the same name', () => {
    const refs = ['schemas/A_2', 'schemas/A', 'other/A', 'other/A.', 'more/A']
    const api = operation(
      {
        requestBody: {
          content: { 'application/json': { schema: { anyOf: refs.map((ref) => ({ $ref: `#/components/${ref}` })) } } },
        },
      },
      {
        components: {
          schemas: { A_2: { const: 1 }, A: { const: 2 } }, other: { 'A': { const: 3 }, 'A.': { const: 4 } },
          more: { A: { const: 5 } },
        },
      },
    )
    const { anyOf } = bodyOf(api) as { anyOf: { $ref: string }[] }
    const definitions = schemaOf(api)['$defs'] as Record<string, { const: number }>
    expect(anyOf.map(({ $ref }) => definitions[$ref.slice('#/$defs/'.length)]!.const)).toEqual([1, 2, 3, 4, 5])
  })

  it('are converted from OpenAPI 3.0 to 2020-12', () => {
    const written = {
      type: 'object', properties: {
        a: { type: 'string', nullable: true, enum: ['x'], example: { nullable: true } },
        b: { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false, format: 'money' },
        c: { allOf: [{ $ref: '#/components/schemas/C', description: 'ignored there' }], nullable: true },
        nullable: { type: 'boolean' },
      },
    }
    expect(bodyOf(schema(written, { C: { type: 'object' } }, '3.0.1'))).toEqual({
      type: 'object', properties: {
        a: { type: ['string', 'null'], enum: ['x', null] },
        b: { type: 'number', exclusiveMinimum: 1, maximum: 5, format: 'money' },
        c: { anyOf: [{ allOf: [{ $ref: '#/$defs/C' }] }, { type: 'null' }] }, nullable: { type: 'boolean' },
      },
    })
  })

  it('are converted from older drafts, and reported', () => {
    const api = schema({
      type: 'object', properties: { size: { type: 'integer', minimum: 0, exclusiveMinimum: true, required: true } },
    })
    expect(bodyOf(api)).toEqual({
      type: 'object', properties: { size: { type: 'integer', exclusiveMinimum: 0 } }, required: ['size'],
    })
    expect(api.mended).toEqual(['"go" (POST /x/{id}) has "required" inside properties, boolean exclusive bounds'])
  })

  it('omit readOnly properties', () => {
    const written = {
      type: 'object', required: ['id', 'name'],
      properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
    }
    expect(bodyOf(schema(written))).toEqual({
      type: 'object', required: ['name'], properties: { name: { type: 'string' } },
    })
  })

  it.each([
    ['a file', { $ref: '../secrets.json' }], ['a host', { $ref: 'https://evil.example/s.json#/a' }],
    ['a missing schema', { $ref: '#/components/schemas/None' }],
    ['an anchor', { $ref: '#Node' }],
    ['a file, in a nested schema', { properties: { a: { items: { $ref: 'file:///etc/passwd' } } } }],
  ])('reject the operation for a reference to %s', (_, written) => {
    expect(schema(written)).toMatchObject({
      operations: [],
      faults: [
        expect.stringMatching(/refers to ".*", (?:outside the document, which is not supported|which does not exist)/),
      ],
    })
  })

  it('are cut if they are too large, and the operation is named', () => {
    const wide = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`p${index}`, { type: 'string' }])),
    }
    const ofWide = schema(wide)
    expect(bodyOf(ofWide)).toEqual({ type: 'object', description: expect.stringContaining('is cut') })
    expect([ofWide.shortened, ofWide.faults]).toEqual([['"go" (POST /x/{id})'], []])
    const chain = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [
        `S${index}`, { properties: { next: { $ref: `#/components/schemas/S${index + 1}` } } },
      ]),
    )
    const ofChain = schema({ $ref: '#/components/schemas/S0' }, chain)
    expect(Object.keys(schemaOf(ofChain)['$defs'] as object)).toHaveLength(12)
    expect((schemaOf(ofChain)['$defs'] as Record<string, unknown>)['S11']).toEqual({
      properties: { next: { description: expect.stringContaining('is cut') } },
    })
    const verbose = { type: 'object', properties: { a: { type: 'object', description: 'x'.repeat(70_000) } } }
    expect(schema(verbose)).toMatchObject({ shortened: ['"go" (POST /x/{id})'] })
    expect(JSON.stringify(bodyOf(schema(verbose))).length).toBeLessThan(300)
  })
})
