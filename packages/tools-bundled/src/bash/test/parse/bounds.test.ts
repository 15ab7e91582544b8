import { expect, it } from 'vitest'
import { parseCommand } from '../../parse/parse-command.ts'

it.each<[what: string, line: (count: number) => string, most: number, why: string]>([
  ['characters', (count) => `echo ${'x'.repeat(count - 5)}`, 32 * 1024, 'it is longer than 32768 characters'],
  ['commands', (count) => Array.from({ length: count }, () => 'ls').join('; '), 50, 'it has more than 50 commands'],
  ['nested groups', (count) => `${'( '.repeat(count)}ls${' )'.repeat(count)}`, 20, 'it is nested too deeply'],
  ['here-documents', (count) => 'cat <<a\n\na\n'.repeat(count), 50, 'it has too many braces or here-documents'],
  ['braces of a word', (count) => `echo ${'{'.repeat(count)}`, 300, 'it has too many braces or here-documents'],
])('a line with too many %s is not read', (_, line, most, why) => {
  expect(parseCommand(line(most))).not.toMatchObject({ why })
  expect(parseCommand(line(4 * most))).toEqual({ kind: 'unread', why })
})
