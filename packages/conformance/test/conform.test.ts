import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { packFolder } from '@bulkhead/loader'
import { createSandbox } from '@bulkhead/sandbox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deliverOverMcp as overMcp } from '../../bridges/src/mcp/index.ts'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import {
  badgeOf, conform, createRecorder, junitOf, readFixtures, reportLines, reportOf, REQUIREMENTS, sarifOf,
  type CheckResult,
} from '../src/index.ts'
import { GOOD } from './examples/good.ts'
import { execute, extension as manifestOf, shout } from './examples/parts.ts'
import { writeExample, type Example } from './examples/package-of.ts'
import { SLOPPY_PACKAGES } from './examples/sloppy-packages.ts'
import { SLOPPY_RUNS } from './examples/sloppy-runs.ts'
import { SLOPPY_SERVICES } from './examples/sloppy-services.ts'

const SLOPPY = { ...SLOPPY_PACKAGES, ...SLOPPY_RUNS, ...SLOPPY_SERVICES }
const ALL = Object.values(REQUIREMENTS).flat()
/** They depend on how a package was made, not on what is in its folder. */
const BY_ORIGIN = ['package-hidden', 'package-integrity', 'package-provenance', 'provenance-repository']
const loader = { coreVersion: '1.0.0', roots: { global: null }, bundled: [] }

let folder: string
beforeAll(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-conform-'))) })
afterAll(() => rmSync(folder, { recursive: true }))

let count = 0
/** Each run has a workspace of its own: what one extension writes must not help another. */
async function run(example: Example, only?: readonly string[]): Promise<readonly CheckResult[]> {
  const workspace = join(folder, `workspace-${++count}`)
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'README.md'), 'Some words.\n')
  const {
    extension, warnings, fixtures: given,
  } = await packFolder(writeExample(join(folder, `example-${count}`), example), { loader })
  const fixtures = readFixtures(given, extension.manifest)
  const recorder = await createRecorder(fixtures)
  const sandbox = createSandbox({ workspace, dryRun: recorder.dryRun, spares: { process: 0, thread: 0 } })
  try {
    return await conform({ extension, warnings, sandbox, workspace, recorder, overMcp, fixtures }, only && { only })
  } finally {
    await sandbox.close()
    await recorder.close()
  }
}

const ids = (results: readonly CheckResult[], ok: boolean | null): readonly string[] =>
  results.filter((result) => result.ok === ok).map(({ id }) => id).filter((id) => !BY_ORIGIN.includes(id))

describe('the requirements', () => {
  it('have distinct ids, and each has a statement, a reason, a cure and a page', () => {
    expect(new Set(ALL.map(({ id }) => id)).size).toBe(ALL.length)
    for (const { statement, why, cure, spec } of ALL) {
      for (const text of [statement, why, cure]) expect(text).toMatch(/^[A-Za-z`0-9].*\.$/)
      expect(spec).toMatch(/^docs\/.*\.md$/)
    }
  })

  it('can each be broken: an example or another origin fails the check', () => {
    const broken = new Set([...Object.values(SLOPPY).flatMap(({ fails }) => fails), ...BY_ORIGIN])
    expect(ALL.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([])
    const known = new Set(ALL.map(({ id }) => id))
    expect([...broken].filter((id) => !known.has(id))).toEqual([])
  })
})

/** In `pnpm soak`. The tests of bulkhead run all checks on the template of an extension. */
it.each(thoroughly([], Object.entries(GOOD)))('%s passes every check', async (_, example) => {
  const results = await run(example)
  expect(results.filter(({ ok, id }) => ok !== true && !BY_ORIGIN.includes(id))).toEqual([])
  expect(results).toHaveLength(ALL.length)
  expect(results.find(({ id }) => id === 'package-provenance')).toMatchObject({ ok: false, level: 'should' })
})

/** Checked whole in `pnpm soak`; here only what needs no run, and two that run. */
const RUN_HERE: Readonly<Record<string, readonly string[]>> = {
  'another export': ['lifecycle'], 'a random approval key': ['keys'],
}
const WITHOUT_RUN = new Set([...REQUIREMENTS.manifest, ...REQUIREMENTS.package].map(({ id }) => id))
const isFoundHere = (name: string, fails: readonly string[]): boolean =>
  Object.hasOwn(RUN_HERE, name) || fails.some((id) => WITHOUT_RUN.has(id))
/** Of the others, where these checks find nothing, every sixteenth. */
const CHECKED = Object.entries(SLOPPY)
  .filter(([name, { fails }], at) => thoroughly(isFoundHere(name, fails) || at % 16 === 0, true))
type Checked = (typeof CHECKED)[number]
async function isFoundWhole(...[name, { fails, skips = [], ...example }]: Checked): Promise<void> {
  const only = thoroughly(['manifest', 'package', ...RUN_HERE[name] ?? []], undefined)
  const results = await run(example, only)
  const checked = new Set(results.map(({ id }) => id))
  expect(ids(results, false).toSorted()).toEqual(fails.filter((id) => checked.has(id)).toSorted())
  const skipped = new Set(results.filter(({ ok }) => ok === null).map(({ group }) => group))
  expect([...skipped]).toEqual(skips.filter((group) => results.some((result) => result.group === group)))
}
const isQuick = ([name]: Checked, at: number): boolean => Object.hasOwn(RUN_HERE, name) || at % 3 === 0
it.each(CHECKED.filter(isQuick))('finds what is wrong with an extension: %s', isFoundWhole)
it.each(CHECKED.filter((one, at) => !isQuick(one, at)))('finds what is wrong with an extension: %s', LONG, isFoundWhole)

it('what depends on the origin of a package is found', async () => {
  const { extension } = await packFolder(writeExample(join(folder, 'origin'), Object.values(GOOD)[0]!), { loader })
  const { code } = extension
  if (code.kind !== 'files') throw new Error('a package has files')
  const signer = {
    issuer: 'https://ci.example.com', subject: 'build', repository: 'https://example.com/x/y', workflow: null,
    ref: null,
  }
  const readFiles = async () => new Map([...await code.readFiles(), ['.env', new Uint8Array(3)]])
  const sandbox = { open: () => Promise.reject(new Error('not used')), close: async () => undefined }
  const checked = async (change: Partial<typeof extension>): Promise<readonly string[]> =>
    (await conform({ extension: { ...extension, ...change }, sandbox, workspace: folder }, { only: BY_ORIGIN }))
      .filter(({ ok }) => ok === false).map(({ id }) => id)
  expect(
    await checked({ integrity: 'signed', signer: { ...signer, repository: 'https://example.com/acme/example' } }),
  ).toEqual([])
  expect(await checked({ integrity: 'signed', signer })).toEqual(['provenance-repository'])
  expect(await checked({ integrity: 'unpinned' })).toEqual(['package-integrity', 'package-provenance'])
  expect(await checked({ integrity: 'signed', code: { kind: 'files', readFiles } })).toEqual(['package-hidden'])
})

it('a result that looks like another form reaches callers and clients of MCP whole', LONG, async () => {
  const outputSchema = {
    type: 'object', properties: { success: { type: 'boolean' }, count: { type: 'integer' } },
    required: ['success', 'count'], additionalProperties: false,
  }
  const only = ['output-schema', 'output-mcp']
  const checked = async (code: string, change: JsonObject = {}) => Object.fromEntries(
    (await run({ manifest: manifestOf('counts', [shout({ outputSchema, ...change })]), code: execute(code) }, only))
      .map(({ id, ok }) => [id, ok]))
  expect(await checked('return { success: true, count: 3 }')).toEqual({ 'output-schema': true, 'output-mcp': true })
  const form = 'return { success: true, data: { success: true, count: 3 } }'
  expect(await checked(form)).toEqual({ 'output-schema': false, 'output-mcp': false })
  expect(await checked(form, { dialect: 'steerable' })).toEqual({ 'output-schema': true, 'output-mcp': true })
})

it('rejects an unknown id with the nearest one', async () => {
  await expect(run(Object.values(GOOD)[0]!, ['abrot'])).rejects.toMatchObject({
    code: 'ConfigInvalid', message: expect.stringContaining('"abort"'),
  })
})

describe('the report', () => {
  const result = (id: string, level: 'must' | 'should', ok: boolean | null, evidence?: string): CheckResult => ({
    group: 'calls', id, level, ok, statement: `About ${id}.`, why: '', spec: '', cure: `Mend ${id}.`,
    ...(evidence !== undefined && { evidence }),
  })
  const results = [
    result('fine', 'must', true), result('sad', 'should', false, 'it is <sad>'),
    result('bad', 'must', false, 'it is\u001B[2J'),
    result('late', 'must', null, 'it does not start'),
  ]
  const extension = { id: 'sample', version: '1.0.0', digests: { package: 'abc' } as never }
  const report = reportOf({ extension, hostVersion: '1.2.3', seed: 7, results })

  it('counts, and an extension conforms if no must failed or was skipped', () => {
    expect(report).toMatchObject({
      extension: { id: 'sample', version: '1.0.0' }, digest: 'abc', host: { version: '1.2.3' }, seed: 7,
      summary: {
        must: { passed: 1, failed: 1, skipped: 1 }, should: { passed: 0, failed: 1, skipped: 0 }, conforms: false,
      },
    })
    expect(report.checks[2]).toEqual({
      id: 'bad', group: 'calls', level: 'must', ok: false, evidence: 'it is\u001B[2J',
    })
    const passing = results.filter(({ id }) => id === 'fine' || id === 'sad')
    expect(reportOf({ extension, hostVersion: '1.2.3', seed: 7, results: passing }).summary.conforms).toBe(true)
    const skipping = results.filter(({ ok }) => ok !== false)
    expect(reportOf({ extension, hostVersion: '1.2.3', seed: 7, results: skipping }).summary.conforms).toBe(false)
  })

  it('shows the worst first, with evidence and cure, and no control characters', () => {
    const lines = reportLines(results, (mark) => mark)
    expect(lines.filter((line) => !line.startsWith(' ')).map((line) => line.split(' ')[0])).toEqual([
      'FAIL', 'warn', 'skip', 'ok',
    ])
    expect(lines.join('\n')).toContain('Mend bad.')
    expect(lines.join('\n')).not.toContain('\u001B')
  })

  it('is written as SARIF, with a rule for each requirement and a result for each that does not hold', () => {
    const text = sarifOf(results, report, 'my tools/bulkhead.json')
    const { version, runs } = JSON.parse(text) as {
      version: string
      runs: readonly { tool: { driver: { rules: readonly { id: string }[] } }; results: unknown }[]
    }
    expect([version, runs.length]).toEqual(['2.1.0', 1])
    expect(runs[0]!.tool.driver.rules.map(({ id }) => id)).toEqual(results.map(({ id }) => id))
    const locations = [
      { physicalLocation: { artifactLocation: { uri: 'my%20tools/bulkhead.json' }, region: { startLine: 1 } } },
    ]
    expect(runs[0]!.results).toMatchObject([
      {
        ruleId: 'sad', ruleIndex: 1, kind: 'fail', level: 'warning',
        message: { text: 'About sad. Found: it is <sad>. Mend sad.' }, locations,
      },
      { ruleId: 'bad', ruleIndex: 2, kind: 'fail', level: 'error', locations },
      {
        ruleId: 'late', ruleIndex: 3, kind: 'open', level: 'none',
        message: { text: 'Not checked: it does not start. About late.' }, locations,
      },
    ])
    expect(text).not.toContain('\\u001b')
  })

  it('names the checks that could not run, by reason, and a whole group by its name', () => {
    const some = [
      ...results, { ...result('slow', 'must', null, 'no time'), group: 'reload' as const },
      { ...result('slower', 'must', null, 'no time'), group: 'reload' as const },
    ]
    expect(
      reportLines(some, (mark) => mark).filter((_, at, lines) =>
        `${lines[at]}${lines[at - 1]}`.includes('could not run'),
      ),
    ).toEqual([
      'skip  1 of the checks could not run: it does not start', '      late',
      'skip  2 of the checks could not run: no time', '      reload',
    ])
  })

  it('is written as JUnit XML and as a badge', () => {
    const xml = junitOf(results, report)
    expect(xml).toContain('tests="4" failures="1" skipped="2"')
    expect(xml).toContain('it is &#60;sad&#62;')
    expect(xml).not.toContain('\u001B')
    expect(badgeOf(report)).toContain('2 missing')
  })
})
