import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { sourceFiles } from './architecture/source-files.ts'
import type { Expression } from './expressions/expressions-in.ts'
import { expressionsIn } from './expressions/expressions-in.ts'
import type { Measured } from './expressions/measure-worker.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** Sources that never match untrusted strings in the host, with the reason. */
const NOT_MEASURED: Readonly<Record<string, string>> = {
  'packages/sandbox/src/worker/': 'runs inside a compartment',
}

/**
 * Files that build expressions at run time, with the reason that these are linear. Their literal parts are measured.
 */
const COMPOSED: Readonly<Record<string, string>> = {
  'packages/conformance/src/generate.ts': 'read to generate strings, never matched',
  'packages/contract/src/validation/fields.ts': 'versions of at most 64 characters',
  'packages/kit/src/text.ts': 'alternatives of literals',
  'packages/kit/src/processes.ts': 'alternatives of literals',
  'packages/host/src/records/redaction.ts': 'alternatives of literals and escaped secrets',
  'packages/loader/src/load/connect.ts': 'a number between literals',
  'packages/loader/src/discover/layer-sources.ts': 'one path segment after a literal prefix',
  'packages/kit/src/schema/pattern-syntax.ts': 'compiled to check its syntax, never matched',
  'packages/sandbox/src/os/installed-layers.ts': 'reads files of the kernel',
  'packages/sandbox/src/os/standing-walls.ts': 'reads a file of the kernel',
  'packages/sandbox/src/os/util-linux.ts': 'reads a file of the kernel',
  'packages/tools-bundled/src/bash/policy/findings.ts': 'literals at the start, nothing repeated',
}

// Markup of a page is not read: `</b>` looks like an expression. A browser runs it, for one person.
const files = readdirSync(join(ROOT, 'packages')).flatMap((name) => sourceFiles(ROOT, `packages/${name}/src`))
  .filter(({ path }) => !path.endsWith('.tsx'))
  .map(({ path, text }) => ({ path, ...expressionsIn(text) }))
const measured = files.filter(({ path }) => !Object.keys(NOT_MEASURED).some((prefix) => path.startsWith(prefix)))
const byExpression = Map.groupBy(
  measured.flatMap(({ path, literals }) => literals.map((expression) => ({ path, expression }))),
  ({ expression: { pattern, flags } }) => `/${pattern}/${flags}`,
)

let worker: Worker | undefined
afterAll(() => worker?.terminate())

/** A string that takes superlinear time to match, or undefined if none of the attacks does. */
async function slowStringFor(expression: Expression): Promise<string | undefined> {
  const used = worker ??= new Worker(new URL('./expressions/measure-worker.ts', import.meta.url))
  let hasAnswered = false
  // The worker may hang on an expression that takes exponential time. Then the test times out, and the next one starts
  // a new worker.
  onTestFinished(async () => {
    if (hasAnswered) return
    worker = undefined
    await used.terminate()
  })
  const answer = once(used, 'message') as Promise<[Measured]>
  used.postMessage(expression)
  const [{ slowFor }] = await answer
  hasAnswered = true
  return slowFor
}

describe('a regular expression in the sources', () => {
  it('is found in every file', () => {
    expect(byExpression.size).toBeGreaterThan(250)
    expect(Object.keys(NOT_MEASURED).filter((prefix) => !files.some(({ path }) => path.startsWith(prefix)))).toEqual([])
  })

  it('is built at run time only in the files of the table', () => {
    const composing = measured.filter(({ composed }) => composed > 0)
    expect(composing.map(({ path }) => path).toSorted()).toEqual(Object.keys(COMPOSED).toSorted())
  })

  it.each([...byExpression].map(([text, [first]]) => [text, first!.path, first!.expression] as const))(
    '%s takes linear time (%s)', async (_text, _path, expression) => {
      expect(await slowStringFor(expression)).toBeUndefined()
    },
  )
})

describe('finds the superlinear expression', () => {
  const quick = [/\s+$/, /a*a*b/]
  const oneOfEachOtherKind = [
    /(?:a|a)*b/, /^.*,.*,.*,x$/, /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/,
  ]
  const more = [
    /\{([^}]*)\}\}/,
    /^(?:#[^\n]*)*$/,
    /"(?:[^"\\]|\\.)*"x/,
    /\/+$/, /<[^>]*>/, /<\s*\/?\s*x/, /^(?:\|\||\|)*$/, /^(\w+\s?)*$/, /(\d+)\.(\d+)$/,
  ]
  const isFound = async ({ source: pattern, flags }: RegExp): Promise<void> =>
    expect(await slowStringFor({ pattern, flags })).toBeTypeOf('string')
  it.each(quick)('%s', isFound)
  it.each([...oneOfEachOtherKind, ...thoroughly([], more)])('%s', LONG, isFound)
})

describe('finds the expressions of', () => {
  it.each<[string, readonly string[]]>([
    ['const a = b / c / d', []],
    ['x = (1 + 2) / 3 / 4', []],
    ["const a = /b\\/[/]c/gi, d = 'e/f/'", ['b\\/[/]c']],
    ['// a /b/\n/* /c/ */ return /d/.test(x)', ['d']],
    ['const a = `/b/${/c/.test(`/d/`)}/e/` + x[0] / 2 / y', ['c']],
    ['case /a/.test(b): f(/c/u, !/d/)', ['a', 'c', 'd']],
    ['#!/usr/bin/env node\nf(/a/)', ['a']],
    ['const a = { b: `${c}` }\nconst d = /e/', ['e']],
  ])('%s', (source, patterns) => {
    expect(expressionsIn(source).literals.map(({ pattern }) => pattern)).toEqual(patterns)
  })

  it('a source that builds them at run time', () => {
    expect(expressionsIn("new RegExp(a); new RegExp('b'); RegExp; x.RegExp(1)").composed).toBe(2)
  })
})
