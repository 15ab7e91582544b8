import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SPECIFICATIONS } from '../src/index.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ALL = SPECIFICATIONS.flatMap(({ requirements }) => requirements)
const numbered = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)

/** Whether a file has this string as a whole literal. */
function hasTitle(file: string, title: string): boolean {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll("\\'", "'")
  return ["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`))
}

describe('the requirements of the specifications', () => {
  it('are complete and in order', () => {
    expect(SPECIFICATIONS.map(({ name, requirements }) => [name, requirements.map(({ id }) => id)])).toEqual([
      ['stud', numbered('S0.', 90)], ['grida', numbered('S1.', 113)], ['morphix', numbered('S2-', 68)],
      ['steerable', numbered('S3-', 19)], ['phi', numbered('S4-', 40)],
    ])
  })

  it('have one plain sentence, and a reason if they are not followed', () => {
    const isSentence = (text: string) => /^[^|\n]{8,130}[.?]$/.test(text)
    expect(ALL.filter(({ text, departure }) => !isSentence(text) || !isSentence(departure?.reason ?? text))).toEqual([])
    expect(ALL.filter(({ status, test, departure }) =>
      status === 'holds' ? test === undefined || departure !== undefined : departure === undefined)).toEqual([])
  })

  it('name tests that exist', () => {
    const missing = ALL.flatMap(({ id, test }) =>
      test === undefined || (existsSync(join(ROOT, test.file)) && hasTitle(test.file, test.title))
        ? [] : [`${id}: ${test.file}: ${test.title}`])
    expect(missing).toEqual([])
  })

  it('name decisions and pages that exist', () => {
    const archive = readFileSync(join(ROOT, 'docs/decisions/archive.md'), 'utf8')
    const decisions = new Set([
      ...readdirSync(join(ROOT, 'docs/decisions')).map((name) => Number(name.slice(0, 4))),
      ...[...archive.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number)),
    ])
    const missing = ALL.flatMap(({ id, departure }) =>
      departure === undefined || (decisions.has(departure.decision) && existsSync(join(ROOT, departure.page)))
        ? [] : [`${id}: ${departure.decision}, ${departure.page}`])
    expect(missing).toEqual([])
  })
})

it('a title that no test has is found', () => {
  expect(hasTitle('packages/conformance/test/specifications.test.ts', ['are', 'complete'].join(' '))).toBe(false)
})
