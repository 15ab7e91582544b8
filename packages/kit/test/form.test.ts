import { expect, it } from 'vitest'
import { formChoices, readFormSchema, readFormValues, type FormField, type FormSchema } from '../src/form.ts'
import type { Json } from '../src/json.ts'

const form = (properties: Record<string, Json>, more: Record<string, Json> = {}) =>
  readFormSchema({ type: 'object', properties, ...more })
const CHOICE = { const: 'a', title: 'A' }

it.each<[string, FormField]>([
  ['text', { type: 'string', title: 'T', description: 'D', default: 'x', minLength: 1, maxLength: 9, format: 'email' }],
  ['a number', { type: 'integer', minimum: 0, maximum: 9, default: 3 }],
  ['yes or no', { type: 'boolean', default: true }],
  ['a choice', { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] }],
  ['a titled choice', { type: 'string', oneOf: [CHOICE] }],
  [
    'several choices',
    { type: 'array', items: { type: 'string', enum: ['a'] }, minItems: 0, maxItems: 1, default: ['a'] },
  ],
  ['several titled choices', { type: 'array', items: { anyOf: [CHOICE] } }],
])('accepts a field with %s', (_, field) => expect(form({ field: field as never })).toBeDefined())

it.each<[string, Json]>([
  ['nothing', null],
  ['no fields', { type: 'object', properties: {} }],
  [
    'too many fields',
    {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`f${at}`, { type: 'string' }])),
    },
  ],
  ['an unknown keyword', { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+' } } }],
  ['an unknown keyword of the form', { type: 'object', properties: { a: { type: 'string' } }, $defs: {} }],
  ['a nested object', { type: 'object', properties: { a: { type: 'object' } } }],
  ['a field without a type', { type: 'object', properties: { a: { enum: ['x'] } } }],
  ['a list without choices', { type: 'object', properties: { a: { type: 'array' } } }],
  [
    'two kinds of choices',
    { type: 'object', properties: { a: { type: 'array', items: { type: 'string', enum: ['a'], anyOf: [CHOICE] } } } },
  ],
  ['choices without a type', { type: 'object', properties: { a: { type: 'array', items: { enum: ['a'] } } } }],
  ['too many choices', {
    type: 'object', properties: { a: { type: 'string', enum: Array.from({ length: 101 }, (_, at) => `${at}`) } },
  }],
  ['an untitled choice', { type: 'object', properties: { a: { type: 'string', oneOf: [{ const: 'a' }] } } }],
  [
    'a name that is special',
    JSON.parse('{ "type": "object", "properties": { "__proto__": { "type": "string" } } }') as Json,
  ],
  ['an unknown required field', { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] }],
  ['a long title', { type: 'object', properties: { a: { type: 'string', title: 'x'.repeat(2_001) } } }],
])('refuses a form with %s', (_, given) => expect(readFormSchema(given)).toBeUndefined())

const FILLED: FormSchema = {
  type: 'object', required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 5 }, age: { type: 'integer', minimum: 0, maximum: 150 },
    on: { type: 'boolean' }, one: { type: 'string', oneOf: [CHOICE] },
    many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 2 },
  },
}

it('reads the values of a form, and drops what the form does not have', () => {
  expect(readFormValues(FILLED, { name: 'Ada', age: 36, on: false, one: 'a', many: ['b'], more: 1 }))
    .toEqual({ name: 'Ada', age: 36, on: false, one: 'a', many: ['b'] })
  expect(readFormValues(FILLED, { name: 'Ada', age: null })).toEqual({ name: 'Ada' })
})

it.each([
  {}, { name: null }, { name: '' }, { name: 'Lovelace' }, { name: 1 }, { name: 'A', age: 1.5 }, { name: 'A', age: -1 },
  { name: 'A', age: '1' }, { name: 'A', on: 'yes' }, { name: 'A', one: 'A' }, { name: 'A', many: 'a' },
  { name: 'A', many: ['c'] }, { name: 'A', many: [] },
])('refuses the values %j', (values) => expect(readFormValues(FILLED, values as never)).toBeUndefined())

it('lists choices with their titles', () => {
  expect(formChoices({ type: 'string', enum: ['a', 'b'], enumNames: ['A'] })).toEqual([
    CHOICE, { const: 'b', title: 'b' },
  ])
  expect(formChoices({ type: 'array', items: { anyOf: [CHOICE] } })).toEqual([CHOICE])
  expect(formChoices({ type: 'string' })).toBeUndefined()
})
