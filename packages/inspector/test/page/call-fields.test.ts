import { expect, it } from 'vitest'
import { callFields, initialArguments } from '../../src/page/model/call-fields.ts'

const fieldsOf = (properties: object, more: object = {}) =>
  callFields({ type: 'object', properties, ...more } as never)?.map(({ name, form, isRequired }) =>
    [name, form && (Object.values(form.properties)[0] as { type: string }).type, isRequired])

it('makes a field of each shape that a form has, and writes the others as JSON', () => {
  expect(fieldsOf({
    text: { type: 'string', minLength: 1, pattern: '^a' }, mail: { type: 'string', format: 'email' },
    path: { type: 'string', format: 'file-path' }, count: { type: 'integer', minimum: 0 },
    share: { type: 'number', exclusiveMinimum: 0 }, loud: { type: 'boolean' }, stage: { enum: ['test', 'live'] },
    only: { const: 'one' }, titled: { type: 'string', oneOf: [{ const: 'a', title: 'A' }] },
    several: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
  }, { required: ['text'] })).toEqual([
    ['text', 'string', true], ['mail', 'string', false], ['path', 'string', false], ['count', 'integer', false],
    ['share', 'number', false], ['loud', 'boolean', false], ['stage', 'string', false], ['only', 'string', false],
    ['titled', 'string', false], ['several', 'array', false],
  ])
  expect(fieldsOf({
    object: { type: 'object', properties: { a: { type: 'string' } } },
    list: { type: 'array', items: { type: 'number' } },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] }, nullable: { type: ['string', 'null'] }, free: {},
    any: true, numbers: { enum: [1, 2] }, 'odd name': { type: 'string' }, __proto__x: { type: 'string' },
  })).toEqual([
    ['object', undefined, false], ['list', undefined, false], ['either', undefined, false],
    ['nullable', undefined, false], ['free', undefined, false], ['any', undefined, false],
    ['numbers', undefined, false], ['odd name', undefined, false], ['__proto__x', undefined, false],
  ])
})

it('leaves a schema whose arguments depend on each other to JSON, and fills in defaults', () => {
  expect(fieldsOf({ a: { type: 'string' } }, { oneOf: [{ required: ['a'] }] })).toBeUndefined()
  expect(callFields({ type: 'object' })).toBeUndefined()
  const properties = { a: { type: 'string', default: 'x' }, b: { const: 3 }, c: { type: 'boolean' } }
  expect(initialArguments({ type: 'object', properties })).toEqual({ a: 'x', b: 3 })
})
