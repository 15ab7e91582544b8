import type { JsonObject } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { withoutAddedNulls } from '../../src/models/added-nulls.ts'

const text = { type: 'string' }
const closed = (properties: JsonObject, required: readonly string[] = []): JsonObject =>
  ({ type: 'object', properties, required, additionalProperties: false })

it('removes nulls of optional arguments at any depth, and keeps those that the schema allows', () => {
  const schema: JsonObject = {
    ...closed(
      {
        list: { type: 'array', items: { $ref: '#/$defs/item' } }, plain: text,
        either: { anyOf: [text, { type: 'null' }] }, listed: { enum: ['a', null] }, needed: text,
      },
      ['needed'],
    ),
    $defs: { item: closed({ label: text, note: text, deep: closed({ a: text }) }, ['label']) },
  }
  expect(withoutAddedNulls({
    list: [{ label: 'x', note: null, deep: { a: null } }, { label: null, note: 'y', deep: null }], plain: null,
    either: null, listed: null, needed: null, unlisted: null,
  }, schema)).toEqual({
    list: [{ label: 'x', deep: {} }, { label: null, note: 'y' }], either: null, listed: null, needed: null,
  })
})

it('follows the alternative that was sent', () => {
  const schema = closed({
    shape: {
      oneOf: [
        closed({ kind: { const: 'a' }, size: text }, ['kind']),
        closed({ kind: { const: 'b' }, size: { type: ['string', 'null'] }, more: text }, ['kind', 'size']),
      ],
    },
  })
  expect(withoutAddedNulls({ shape: { kind: 'a', size: null } }, schema)).toEqual({ shape: { kind: 'a' } })
  expect(withoutAddedNulls({ shape: { kind: 'b', size: null, more: null } }, schema))
    .toEqual({ shape: { kind: 'b', size: null } })
  expect(withoutAddedNulls({ shape: { kind: 'c', size: null } }, schema)).toEqual({ shape: { kind: 'c', size: null } })
})

it('returns arguments without nulls unchanged', () => {
  const args = { a: [1, { b: 'x' }] }
  expect(withoutAddedNulls(args, closed({}))).toBe(args)
})
