import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { table } from '../src/cli/output.ts'

const HEADINGS = ['NAME', 'SHADOWS', 'MAY']
const ROWS = [['read', '-', 'reads {workspace}'], ['skill', '-', 'reads {workspace}/.agents/skills, reads {user-data}/skills']]
const lines = (columns: number | undefined, rows = ROWS) => stripVTControlCharacters(table(HEADINGS, rows, columns)).trimEnd().split('\n')

it('is one line for each row where the output is no terminal', () => {
  expect(lines(undefined)).toEqual([
    'NAME   SHADOWS  MAY',
    'read   -        reads {workspace}',
    'skill  -        reads {workspace}/.agents/skills, reads {user-data}/skills',
  ])
  expect(lines(74)).toEqual(lines(undefined))
})

it('breaks the last cell between words under its heading, and leaves out what says nothing, where the screen is narrow', () => {
  expect(lines(50)).toEqual([
    'NAME   MAY',
    'read   reads {workspace}',
    'skill  reads {workspace}/.agents/skills, reads',
    '       {user-data}/skills',
  ])
})

it('puts the last cell below its row where there is no room beside it', () => {
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

it('puts as many cells below their row as have no room in it', () => {
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
