import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { pageCode } from '../../src/bundle/page-code.ts'

const code = await pageCode()
const gzipped = (names: readonly string[]) =>
  names.reduce((sum, name) => sum + gzipSync(code[name]!, { level: 9 }).length, 0)

it('is small', () => {
  const html = code['index.html']!
  const first = Object.keys(code).filter((name) => name === 'index.html' || html.includes(name))
  expect(first.length).toBe(4)
  // Everything else is fetched when it is opened.
  const main = first.find((name) => name.endsWith('.js'))!
  expect(code[main]!.match(/\bfrom\s*["'`]\.[^"'`]*|\bimport\s*["'`][^"'`]*/g) ?? []).toEqual([])
  expect(gzipped(first)).toBeLessThanOrEqual(60_000)
  expect(gzipped(Object.keys(code))).toBeLessThanOrEqual(100_000)
})

it('needs nothing that a strict policy forbids', () => {
  const html = code['index.html']!
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/)
  const all = Object.values(code).join('\n')
  expect(all.match(/https?:\/\/(?!www\.w3\.org\/|preactjs\.com|localhost\.["'`])[^\s"'`]*/g) ?? []).toEqual([])
  expect(all).not.toContain(process.cwd())
})
