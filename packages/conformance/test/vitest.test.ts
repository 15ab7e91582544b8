import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { conformance, REQUIREMENTS } from '../src/index.ts'
import { resultOf } from '../src/vitest.ts'
import { GOOD } from './examples/good.ts'
import { PACKAGE_JSON, writeExample, type Example } from './examples/package-of.ts'
import { SLOPPY_RUNS } from './examples/sloppy-runs.ts'

const row = REQUIREMENTS.abort[0]!
const failed = (level: 'must' | 'should', ok: boolean | null, otherFailures = 0) =>
  resultOf(
    { ...row, level },
    {
      checks: [{ id: row.id, group: 'abort', level, ok, evidence: 'it ran on\u001B[2J' }],
      summary: {
        must: { passed: 0, failed: otherFailures, skipped: 0 }, should: { passed: 0, failed: 0, skipped: 0 },
        conforms: false,
      },
    },
  )

it('a must that failed fails its test, with evidence, cure and reason', () => {
  const { failure } = failed('must', false, 1)
  for (const text of ['it ran on', row.cure, row.why, row.spec]) expect(failure).toContain(text)
  expect(failure).not.toContain('\u001B')
})

it('a should that failed and a check that another one prevents are skipped tests', () => {
  expect(failed('must', true)).toEqual({})
  expect(failed('should', false).advice).toContain(row.cure)
  expect(failed('must', null, 1).advice).toContain('it ran on')
  expect(failed('should', null).advice).toContain('it ran on')
})

it('a must that could not be checked fails if nothing else does', () => {
  expect(failed('must', null).failure).toContain('could not be checked')
  const { summary } = {
    summary: {
      must: { passed: 0, failed: 0, skipped: 0 }, should: { passed: 0, failed: 0, skipped: 0 }, conforms: true,
    },
  }
  expect(resultOf(row, { checks: [], summary }).failure).toContain('same version')
})

it('outside vitest, the error says so', () => {
  const { VITEST } = process.env
  delete process.env['VITEST']
  try {
    expect(() => conformance('.')).toThrow(/needs vitest/)
  } finally {
    process.env['VITEST'] = VITEST
  }
})

/** Real runs of vitest on real extensions take 10 s. */
const ROOT = join(import.meta.dirname, '../../..')
let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-vitest-')))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  symlinkSync(join(ROOT, 'packages/conformance'), join(folder, 'node_modules/@bulkhead/conformance'))
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Results {
  readonly testResults: readonly [{ readonly assertionResults: readonly {
    readonly title: string; readonly status: string; readonly failureMessages: readonly string[]
  }[] }]
}

/** Runs the two documented lines. */
function vitestOn(name: string, example: Example): Results['testResults'][0]['assertionResults'] {
  const test = `import { conformance } from '@bulkhead/conformance'\nconformance(new URL('..', import.meta.url))\n`
  const packageJson = JSON.stringify({ ...PACKAGE_JSON, files: ['bulkhead.json', 'index.js', 'README.md'] })
  const files = { ...example.files, 'test/conformance.test.js': test, 'package.json': packageJson }
  const at = writeExample(join(folder, name), { ...example, files })
  const args = ['run', '--root', at, '--reporter=json', '--outputFile=results.json']
  spawnSync(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args], { cwd: at })
  return (JSON.parse(readFileSync(join(at, 'results.json'), 'utf8')) as Results).testResults[0].assertionResults
}

it.each(thoroughly([], ['whole']))('the %s suite runs in vitest: a good extension passes, a sloppy one fails', () => {
  const good = vitestOn('good', GOOD['a pure function']!)
  expect(good).toHaveLength(Object.values(REQUIREMENTS).flat().length)
  expect(
    good.filter(({ status }) => status !== 'passed').map(({ title, status }) => [title.split(':')[0], status]),
  ).toEqual([['package-provenance', 'skipped']])
  const sloppy = vitestOn('sloppy', SLOPPY_RUNS['another export']!)
  const [
    {
      title, failureMessages: [message],
    },
    ...others
  ] = sloppy.filter(({ status }) => status === 'failed') as [(typeof sloppy)[0]]
  expect(others).toEqual([])
  expect(title).toMatch(/^exports: /)
  expect(message).toContain('ExportsMismatch')
  expect(sloppy.filter(({ status }) => status === 'skipped').length).toBeGreaterThan(20)
})
