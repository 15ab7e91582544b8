import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS } from '@bulkhead/contract'
import { parseSync, Visitor } from 'rolldown/utils'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
/** Phrases that readers stumbled over. The rest of the style is for people to judge. */
const REJECTED = /\b(?:whoever|nobody|is told|is heard|of the like)\b/gi

const phrasesIn = (text: string): readonly string[] => text.match(REJECTED) ?? []
const findIn = (pattern: string): readonly string[] => globSync(pattern, { cwd: ROOT }).toSorted()
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Help, prompts, descriptions and messages are string literals of the sources; comments are not. */
function stringsOf(code: string): readonly string[] {
  const found: string[] = []
  const { program } = parseSync('source.ts', code, { lang: 'ts' })
  new Visitor({
    Literal: ({ value }) => { if (typeof value === 'string') found.push(value) },
    TemplateElement: ({ value }) => { found.push(value.cooked ?? value.raw) },
  }).visit(program)
  return found
}

it('notices a phrase in a page and in a string, and not in a comment or a name', () => {
  expect(phrasesIn('Whoever reads this IS TOLD nothing.')).toEqual(['Whoever', 'IS TOLD'])
  expect(phrasesIn('readonly isNobody?: boolean')).toEqual([])
  expect(stringsOf('// nobody\nthrow new Error(`${who} asked, and nobody answered`)').flatMap(phrasesIn)).toEqual(['nobody'])
})

const PAGES = ['*.md', 'llms.txt', 'docs/**/*.md', 'packages/*/README.md', 'apps/*/README.md', 'bench/README.md'].flatMap(findIn)
it.each(PAGES)('%s is written in plain words', (page) => {
  expect(phrasesIn(read(page))).toEqual([])
})

it('every string of the sources is written in plain words', () => {
  const files = ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts', 'scripts/**/*.mjs'].flatMap(findIn)
  expect(files.length).toBeGreaterThan(200)
  expect(files.flatMap((file) => stringsOf(read(file)).filter((text) => phrasesIn(text).length > 0).map((text) => `${file}: ${text}`))).toEqual([])
})

it.each(Object.entries(ERRORS))('the error %s is described in plain words', (_, { meaning, cure }) => {
  expect(phrasesIn(`${meaning} ${cure ?? ''}`)).toEqual([])
})
