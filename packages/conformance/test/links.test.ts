import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const PAGES = ['*.md', 'docs/**/*.md', 'packages/*/README.md'].flatMap((pattern) => globSync(pattern, { cwd: ROOT }))

/** Code contains no links. */
const prose = (page: string): string => readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
  .replaceAll(/`[^`\n]*`/g, '')

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').trim()
  .replaceAll(' ', '-')
const anchors = (page: string): ReadonlySet<string> =>
  new Set([...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!)))

function dead(page: string): readonly string[] {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!).filter((target) => {
    if (/^https?:/.test(target)) return false
    const [path, anchor] = target.split('#') as [string, string?]
    const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path)
    if (!existsSync(file) || relative(ROOT, file).startsWith('..')) return true
    return anchor !== undefined && (statSync(file).isDirectory() || !anchors(file).has(anchor))
  })
}

it.each(PAGES)('every link of %s has a target', (page) => {
  expect(dead(page)).toEqual([])
})

it('every page of docs can be reached from the README', () => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const [, target] of prose(page).matchAll(/\]\(([^)#\s]+)/g)) {
      const path = join(dirname(page), target!)
      const next = /\/$|^[^.]*$/.test(path) ? join(path, 'README.md') : path
      if (next.endsWith('.md') && existsSync(join(ROOT, next))) reached.add(next)
    }
  }
  expect(globSync('docs/**/*.md', { cwd: ROOT }).filter((page) => !reached.has(page))).toEqual([])
})

it('a page of a package does not link outside the package, because a registry shows it alone', () => {
  const outside = PAGES.filter((page) => page.startsWith('packages/')).flatMap((page) =>
    [...prose(page).matchAll(/\]\((\.\.\/[^)\s]*)\)/g)].map(([, target]) => `${page}: ${target}`))
  expect(outside).toEqual([])
})

const DECISIONS = globSync('docs/decisions/0*.md', { cwd: ROOT }).map((page) => Number(/(\d+)-/.exec(page)![1]))

/** The numbers in the first column of the tables of a page. */
const numbersOf = (page: string): readonly number[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number))

it('at most 50 decisions have a page, and each decision is in the index or in the archive', () => {
  const archived = numbersOf('docs/decisions/archive.md')
  expect(DECISIONS.length).toBeLessThanOrEqual(50)
  expect(numbersOf('docs/decisions/README.md')).toEqual(DECISIONS.toSorted((a, b) => a - b))
  expect(new Set([...DECISIONS, ...archived]).size).toBe(DECISIONS.length + archived.length)
})

it('every decision that a file names has a page or a line in the archive', () => {
  const pages = new Set([...DECISIONS, ...numbersOf('docs/decisions/archive.md')])
  const files = [
    '{packages,apps}/*/{src,test,scripts,corpus}/**/*.ts', 'bench/{src,test}/**/*.ts', 'scripts/**/*.mjs', '*.md',
    'docs/{guides,explanation,reference,tutorials}/*.md',
  ]
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  const named = files.flatMap((file) => [
    ...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bdecisions? (\d+(?:(?:, | and )\d+)*)/gi),
  ]
    .flatMap(([, numbers]) => numbers!.match(/\d+/g)!.map((number) => [file, Number(number)] as const)))
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(([, number]) => !pages.has(number))).toEqual([])
})
