import { expect, it } from 'vitest'
import { parseCommand } from '../../parse/parse-command.ts'
import { analyzeCommand } from '../../policy/analyze-command.ts'

it.each([
  ['echo x > ../a', 'the file ../a is outside the workspace'], ['cat < ../a', 'the file ../a is outside the workspace'],
  ['echo x > .git/config', '".git/config" '], ['echo x > /dev/sda', 'it would overwrite a disk'],
  [':(){ :|:& };:', 'it is a fork bomb'],
])('%s is denied before it runs', (command, why) => {
  const { analysis } = analyzeCommand(command, { workspace: '/w', folder: '.' })
  expect(analysis.denies).toContainEqual(expect.stringContaining(why))
})

it.each(['ls \u0007', 'ls \u001b[2J', 'ls \ud800'])('%j has invisible characters, so it is not read', (command) => {
  expect(parseCommand(command)).toEqual({ kind: 'unread', why: 'it contains invisible characters' })
})
