import type { JsonObject } from '@bulkhead/kit/json'
import { expect, test } from 'vitest'
import { commandTexts } from '../../../src/policy/command-safety/command-safety.ts'

test.each<[string, JsonObject, readonly string[]]>([
  ['nothing where there is no text', { n: 1, on: true, none: null }, []],
  ['each text, however deep', { a: 'x', b: { c: ['y'] } }, ['x', 'y']],
  ['each text once', { a: 'x', b: 'x' }, ['x']],
  ['words together', { argv: ['rm', '-rf', '/'] }, ['rm -rf /', 'rm', '-rf', '/']],
  ['a program with its arguments', { args: ['-rf', '/'], program: 'rm' }, ['rm -rf /', '-rf /', '-rf', '/', 'rm']],
  [
    'each of several texts with the list', { cmd: 'rm', cwd: '/tmp', args: ['-rf', '/'] },
    ['rm -rf /', '/tmp -rf /', 'rm', '/tmp', '-rf /', '-rf', '/'],
  ],
])('finds %s', (_, args, texts) => {
  expect([...commandTexts(args)!].toSorted()).toEqual([...texts].toSorted())
})

test('arguments with too many combinations are not combined', () => {
  const list = Array.from({ length: 10_000 }, () => 'word')
  const programs = Object.fromEntries(list.map((word, index) => [`p${index}`, word]))
  expect(commandTexts({ ...programs, list })).toBeUndefined()
  expect(commandTexts({ program: 'ls', list })?.size).toBe(4)
})
