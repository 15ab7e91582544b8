import { expect, test } from 'vitest'
import { findNameFault, findPathFault, findWindowsFault, foldName } from '../../src/files/read-package.ts'

test.each([
  ['index.js', 'INDEX.js'],
  ['caf\u00e9.js', 'cafe\u0301.js'],
  ['CAF\u00c9.js', 'cafe\u0301.js'],
  ['\u03c3', '\u03c2'],
  ['stra\u00dfe', 'STRASSE'],
  ['\u212bngstr\u00f6m', 'a\u030angstro\u0308m'],
])('%j and %j collide on some file system', (one, other) => {
  expect(foldName(one)).toBe(foldName(other))
})

test.each([['a', 'b'], ['cafe', 'caf\u00e9'], ['a/b', 'a b']])('%j and %j never collide', (one, other) => {
  expect(foldName(one)).not.toBe(foldName(other))
})

test.each([
  '\ufffd', 'a\ud800', 'a\u0000', 'a\u202eb', 'a\u200bb', 'a\u2028', 'a\\b', 'C:a', 'a'.repeat(256),
  '\u00e9'.repeat(128),
])('%j is an invalid name', (name) => {
  expect(findNameFault(name)).toBeTypeOf('string')
})

test.each(['index.js', '.config', 'caf\u00e9 \u4e16\u754c', '-x', 'a'.repeat(255)])('%j is a valid name', (name) => {
  expect(findNameFault(name, 'win32')).toBeUndefined()
})

test.each([
  ['CON', /device/], ['nul.txt', /device/], ['Aux .js', /device/], ['com1', /device/], ['LPT\u00b2.md', /device/],
  ['conin$', /device/],
  ['a.', /drops/], ['a ', /drops/], ['what?', /does not allow/], ['a<b', /does not allow/],
])('%j is invalid only on Windows', (name, why) => {
  expect(findWindowsFault(name)).toMatch(why)
  expect(findNameFault(name, 'win32')).toMatch(why)
  expect(findNameFault(name, 'linux')).toBeUndefined()
})

test.each(['console.js', 'com10', 'nullable.txt', 'a.con', '.a', ' a'])('%j is valid on Windows too', (name) => {
  expect(findWindowsFault(name)).toBeUndefined()
})

test('limits the length of a path', () => {
  expect(findPathFault('a/'.repeat(512))).toBeUndefined()
  expect(findPathFault('a/'.repeat(512) + 'b')).toMatch(/1024/)
})
