import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire, findPackageJSON } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Report } from './report.ts'
import { chosenBy, type Requirement } from './requirement.ts'
import { REQUIREMENTS } from './suite.ts'

export interface ConformanceOptions {
  /** Configuration to start the extension with. It must satisfy the configSchema. */
  readonly config?: JsonObject
  /** Ids of requirements, or of groups. Default: all. */
  readonly only?: readonly string[]
  /** For the generated arguments. Default: 1. */
  readonly seed?: number
}

type Row = Omit<Requirement<never>, 'check'>

/** A run takes a few seconds. This is for runs that hang. */
const TIMEOUT_MS = 300_000

/**
 * Makes one vitest test of each requirement for the extension in a folder. Call it at the top level of a test file.
 * The package `bulkhead` must be installed, because it loads and runs the extension. Throws ConfigInvalid outside
 * vitest.
 */
export function conformance(folder: URL | string, options: ConformanceOptions = {}): void {
  const { beforeAll, describe, it } = vitest()
  const path = typeof folder === 'string' ? resolve(folder) : fileURLToPath(folder)
  const isChosen = chosenBy(options.only, REQUIREMENTS)
  const groups = Object.entries<readonly Row[]>(REQUIREMENTS).map(([group, rows]) =>
    [group, rows.filter(({ id }) => isChosen(group, id))] as const)
  const chosen = groups.filter(([, rows]) => rows.length > 0)
  describe('conformance', () => {
    let report: Report
    beforeAll(async () => {
      report = await reportOn(path, options)
    }, TIMEOUT_MS)
    for (const [group, rows] of chosen) {
      describe(group, () => {
        for (const row of rows) {
          it(`${row.id}: ${row.statement}`, ({ skip }) => {
            const { failure, advice } = resultOf(row, report)
            if (failure !== undefined) throw withoutStack(failure)
            if (advice !== undefined) skip(advice)
          })
        }
      })
    }
  })
}

/**
 * The result of one test. A should that failed is shown as a skipped test with its advice, as in the JUnit report: it
 * does not keep the extension from conforming. A must that could not be checked does, so it fails unless another one
 * is the cause.
 */
export function resultOf(
  { id, level, cure, why, spec }: Row, { checks, summary }: Pick<Report, 'checks' | 'summary'>,
): { readonly failure?: string; readonly advice?: string } {
  const check = checks.find((one) => one.id === id)
  if (check === undefined) {
    return { failure: 'It was not checked. Install the same version of bulkhead and @bulkhead/conformance.' }
  }
  if (check.ok) return {}
  const evidence = visibleText(check.evidence ?? '')
  if (check.ok === null) {
    return level === 'must' && summary.must.failed === 0
      ? { failure: `It could not be checked: ${evidence}` } : { advice: evidence }
  }
  return level === 'must'
    ? { failure: `${evidence}\n${cure}\nWhy: ${why} See ${spec}.` } : { advice: `${evidence}. ${cure}` }
}

/** The stack would point into this file. */
const withoutStack = (message: string): Error => Object.assign(new Error(message), { stack: `Error: ${message}` })

/** Loaded here only, because other users of this package do not have it. The runner has loaded it before. */
function vitest(): typeof import('vitest') {
  if (process.env['VITEST'] === undefined) {
    throw new BulkheadError('ConfigInvalid', 'conformance() needs vitest. Call it in a test file, and run "vitest".')
  }
  return createRequire(import.meta.url)(fileURLToPath(import.meta.resolve('vitest'))) as typeof import('vitest')
}

/** The report of the command. It runs in its own process, so that the test runner does not change the result. */
function reportOn(path: string, { config, only, seed }: ConformanceOptions): Promise<Report> {
  const args = [
    commandOf(path), 'conformance', path, '--json', '--quiet', ...(config ? ['--config', JSON.stringify(config)] : []),
    ...(only ? ['--only', only.join(',')] : []), ...(seed === undefined ? [] : ['--seed', String(seed)]),
  ]
  return new Promise((settle, reject) => {
    execFile(process.execPath, args, { timeout: TIMEOUT_MS, maxBuffer: Infinity }, (error, stdout, stderr) => {
      // The exit code is 1 if the extension does not conform.
      if (error !== null && error.code !== 1 || stdout === '') reject(withoutStack(stderr.trim() || String(error)))
      else settle(JSON.parse(stdout) as Report)
    })
  })
}

/** The file of the command `bulkhead`, as the project has installed it. */
function commandOf(folder: string): string {
  for (const from of [join(folder, 'package.json'), import.meta.url]) {
    try {
      const manifest = findPackageJSON('bulkhead', from)!
      const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: { readonly bulkhead: string } }
      return join(dirname(manifest), bin.bulkhead)
    } catch {
      // It throws if there is none.
    }
  }
  throw new BulkheadError('ConfigInvalid', 'conformance() needs the package bulkhead: npm install --save-dev bulkhead')
}
