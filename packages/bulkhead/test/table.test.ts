import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { table } from '../src/cli/output.ts'

const HEADINGS = ['NAME', 'SHADOWS', 'MAY']
const ROWS = [
  ['read', '-', 'reads {workspace}'], ['skill', '-', 'reads {workspace}/.agents/skills, reads {user-data}/skills'],
]
const lines = (columns: number | undefined, rows = ROWS) =>
  stripVTControlCharacters(table(HEADINGS, rows, columns))
    .trimEnd()
    .split('\n')

it('prints one line per row without a terminal', () => {
  expect(lines(undefined)).toEqual([
    'NAME   SHADOWS  MAY',
    'read   -        reads {workspace}',
    'skill  -        reads {workspace}/.agents/skills, reads {user-data}/skills',
  ])
  expect(lines(74)).toEqual(lines(undefined))
})

it('wraps the last cell under its heading and drops empty columns on a narrow terminal', () => {
  expect(lines(50)).toEqual([
    'NAME   MAY',
    'read   reads {workspace}',
    'skill  reads {workspace}/.agents/skills, reads',
    '       {user-data}/skills',
  ])
})

it('puts the last cell below its row if it does not fit', () => {
  expect(lines(30)).toEqual([
    'NAME   MAY',
    'read   reads {workspace}',
    'skill',
    '    reads',
    '    {workspace}/.agents/skills,',
    '    reads {user-data}/skills',
  ])
  expect(lines(28, [['a-long-name', 'global other@1', '-'], ['read', '-', 'reads {workspace}']])).toEqual([
    'NAME         SHADOWS', '    MAY', 'a-long-name  global other@1', 'read         -', '    reads {workspace}',
  ])
})

it('puts all cells that do not fit below their row', () => {
  const narrow = stripVTControlCharacters(table(['NAME', 'LAYER', 'STATE', 'MAY'], [
    ['read', 'bundled', 'validated', 'reads {workspace}'], ['tool_search', 'bundled', 'active', '-'],
  ], 24)).trimEnd().split('\n')
  expect(narrow).toEqual([
    'NAME         LAYER', '    STATE  MAY',
    'read         bundled', '    validated  reads', '    {workspace}',
    'tool_search  bundled', '    active',
  ])
  expect(Math.max(...narrow.map(({ length }) => length))).toBeLessThanOrEqual(24)
})
