import { expect, test } from 'vitest'
import { findNameFault, foldName } from '../src/files/portable-name.ts'

test.each([
  ['index.js', 'INDEX.js'],
  ['caf\u00e9.js', 'cafe\u0301.js'],
  ['CAF\u00c9.js', 'cafe\u0301.js'],
  ['\u03c3', '\u03c2'],
  ['stra\u00dfe', 'STRASSE'],
  ['\u212bngstr\u00f6m', 'a\u030angstro\u0308m'],
])('%j and %j are one file somewhere', (one, other) => {
  expect(foldName(one)).toBe(foldName(other))
})

test.each([['a', 'b'], ['cafe', 'caf\u00e9'], ['a/b', 'a b']])('%j and %j are two files everywhere', (one, other) => {
  expect(foldName(one)).not.toBe(foldName(other))
})

test.each(['\ufffd', 'a\ud800', 'a\u0000', 'a\u202eb', 'a\u200bb', 'a\u2028', 'a\\b', 'C:a'])('%j is no name for a file of a package', (name) => {
  expect(findNameFault(name)).toBeTypeOf('string')
})

test.each(['index.js', '.config', 'caf\u00e9 \u4e16\u754c', '-x'])('%j is one', (name) => {
  expect(findNameFault(name)).toBeUndefined()
})
