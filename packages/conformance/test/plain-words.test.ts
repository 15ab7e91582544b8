import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS } from '@bulkhead/contract'
import { parseSync, Visitor } from 'rolldown/utils'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
/** Phrases that confused readers. Reviews cover the rest of the style. */
const REJECTED = /\b(?:whoever|nobody|is told|is heard|of the like)\b/gi

const phrasesIn = (text: string): readonly string[] => text.match(REJECTED) ?? []
const findIn = (pattern: string): readonly string[] => globSync(pattern, { cwd: ROOT }).toSorted()
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** The string literals of a source: help, prompts, descriptions and messages. Comments are not included. */
function stringsOf(code: string): readonly string[] {
  const found: string[] = []
  const { program } = parseSync('source.ts', code, { lang: 'ts' })
  new Visitor({
    Literal: ({ value }) => { if (typeof value === 'string') found.push(value) },
    TemplateElement: ({ value }) => { found.push(value.cooked ?? value.raw) },
  }).visit(program)
  return found
}

it('finds a phrase in a page and in a string, but not in a comment or a name', () => {
  expect(phrasesIn('Whoever reads this IS TOLD nothing.')).toEqual(['Whoever', 'IS TOLD'])
  expect(phrasesIn('readonly isNobody?: boolean')).toEqual([])
  expect(stringsOf('// nobody\nthrow new Error(`${who} asked, and nobody answered`)').flatMap(phrasesIn))
    .toEqual(['nobody'])
})

const PAGES = ['*.md', 'llms.txt', 'docs/**/*.md', 'packages/*/README.md', 'apps/*/README.md', 'bench/README.md']
  .flatMap(findIn)
it.each(PAGES)('%s has none of these phrases', (page) => {
  expect(phrasesIn(read(page))).toEqual([])
})

it('no string of the sources has one of these phrases', () => {
  const files = ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts', 'scripts/**/*.mjs'].flatMap(findIn)
    .filter((file) => !file.includes('/test/'))
  expect(files.length).toBeGreaterThan(200)
  // Parses only the files that have a phrase anywhere. An escape such as `\n` can hide the start of a word.
  const anywhere = new RegExp(REJECTED.source.replaceAll(String.raw`\b`, ''), 'i')
  const suspects = files.map((file) => ({ file, code: read(file) })).filter(({ code }) => anywhere.test(code))
  expect(suspects.flatMap(({ file, code }) => stringsOf(code).filter((text) => phrasesIn(text).length > 0)
    .map((text) => `${file}: ${text}`))).toEqual([])
})

it.each(Object.entries(ERRORS))('the error %s has none of these phrases', (_, { meaning, cure }) => {
  expect(phrasesIn(`${meaning} ${cure ?? ''}`)).toEqual([])
})
