import { expect, it } from 'vitest'
import { narrowingArguments } from '../../../src/fs/search/file-pattern.ts'

it.each([
  ['*.md', '*.md'], ['**/*.md', '*.md'], ['src/**/a-*.{ts,tsx}', undefined], ['*.{ts,tsx}', '*.{ts,tsx}'],
  ['src/index.ts', 'index.ts'],
])('narrows %s by its last name: %s', (pattern, name) => {
  expect(narrowingArguments(pattern)).toEqual(name === undefined ? [] : [`--type-add=wanted:${name}`, '--type=wanted'])
})

it.each([
  '**', '*', 'src/**', 'src/', 'a/.', '..', 'a**b', '[ab].ts', 'a?.ts', '{a/b,c}.ts', 'a:b', 'include:all', 'é*',
])(
  'does not narrow %s, because ripgrep may interpret it differently',
  (pattern) => {
    expect(narrowingArguments(pattern)).toEqual([])
  },
)
