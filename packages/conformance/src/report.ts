import type { ConformanceReport, ExtensionDescriptor } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { CheckResult } from './suite.ts'

/** The result of a run, for programs. `conformance-report.schema.json` of @bulkhead/contract describes it. */
export type Report = ConformanceReport
export type Counts = Report['summary']['must']

export interface ReportSources {
  readonly extension: Pick<ExtensionDescriptor, 'id' | 'version' | 'digests'>
  readonly hostVersion: string
  readonly seed: number
  readonly results: readonly CheckResult[]
}

/** An extension conforms if no must failed or was skipped. */
export function reportOf({ extension: { id, version, digests }, hostVersion, seed, results }: ReportSources): Report {
  return {
    extension: { id, version }, digest: digests.package, seed,
    host: { version: hostVersion, node: process.version, platform: `${process.platform} ${process.arch}` },
    checks: results.map(({ id: check, group, level, ok, evidence }) =>
      ({ id: check, group, level, ok, ...(evidence !== undefined && { evidence }) })),
    summary: summaryOf(results),
  }
}

export function summaryOf(results: readonly CheckResult<string>[]): Report['summary'] {
  const must = countsOf(results.filter(({ level }) => level === 'must'))
  return {
    must, should: countsOf(results.filter(({ level }) => level === 'should')),
    conforms: must.failed === 0 && must.skipped === 0,
  }
}

const countsOf = (results: readonly CheckResult<string>[]): Counts => ({
  passed: results.filter(({ ok }) => ok === true).length,
  failed: results.filter(({ ok }) => ok === false).length,
  skipped: results.filter(({ ok }) => ok === null).length,
})

/** 0: a must that failed. 1: a should that failed. 2: skipped. 3: passed. */
function rankOf({ ok, level }: CheckResult<string>): number {
  if (ok === false) return level === 'must' ? 0 : 1
  return ok === null ? 2 : 3
}

const MARKS = ['FAIL', 'warn', 'skip', 'ok'] as const
export type Mark = (typeof MARKS)[number]

/** For people: the worst first, then by group. `paint` colours a mark. Requirements that hold are counted only. */
export function reportLines(
  results: readonly CheckResult<string>[], paint: (mark: Mark) => string,
): readonly string[] {
  const shown = results.filter(({ ok }) => ok !== true).toSorted((one, other) => rankOf(one) - rankOf(other))
  const skipped = shown.filter(({ ok }) => ok === null)
  return [
    ...shown.filter(({ ok }) => ok === false).flatMap((result) => [
      `${paint(MARKS[rankOf(result)]!)}  ${result.id}: ${result.statement}`,
      `      ${visibleText(result.evidence ?? '')}`,
      `      ${result.cure}`,
    ]),
    ...[...Map.groupBy(skipped, ({ evidence = '' }) => evidence)].flatMap(([reason, own]) => [
      `${paint('skip')}  ${own.length} of the checks could not run: ${visibleText(reason)}`,
      `      ${namesOf(own, results).join(', ')}`,
    ]),
    `${paint('ok')}    ${results.filter(({ ok }) => ok === true).length} of ${results.length} requirements hold.`,
  ]
}

/** The names of these results, or of a group if all of it is among them. */
function namesOf(some: readonly CheckResult<string>[], all: readonly CheckResult<string>[]): readonly string[] {
  const size = (list: readonly CheckResult<string>[], wanted: string): number =>
    list.filter(({ group }) => group === wanted).length
  return [...new Set(some.map(({ id, group }) => size(some, group) === size(all, group) ? group : id))]
}

/** JUnit's XML, which CI systems read. Warnings count as skipped tests with a message. */
export function junitOf(results: readonly CheckResult[], { extension: { id, version }, summary }: Report): string {
  const cases = results.map((result) => {
    const name = escaped(`${result.id}: ${result.statement}`)
    const open = `    <testcase classname="${escaped(result.group)}" name="${name}"`
    const rank = rankOf(result)
    if (rank === 3) return `${open}/>`
    const message = escaped(`${result.evidence ?? ''}`)
    return rank === 0 ? `${open}><failure message="${message}">${escaped(result.cure)}</failure></testcase>`
      : `${open}><skipped message="${message}"/></testcase>`
  })
  const counts = `tests="${results.length}" failures="${summary.must.failed}" `
    + `skipped="${results.filter((result) => rankOf(result) === 1 || rankOf(result) === 2).length}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="${escaped(`${id} ${version}`)}" ${counts}>
${cases.join('\n')}
  </testsuite>
</testsuites>
`
}

/** Without characters that XML forbids. */
const escaped = (text: string): string => visibleText(text).replace(/[<>&"']/g, (char) => `&#${char.charCodeAt(0)};`)

/** An SVG for a README. */
export function badgeOf({ summary: { must, conforms } }: Report): string {
  const text = conforms ? `${must.passed} of ${must.passed}` : `${must.failed + must.skipped} missing`
  const colour = conforms ? '#2e7d32' : '#c62828'
  return `<svg xmlns="http://www.w3.org/2000/svg" width="180" height="20" role="img" aria-label="conformance: ${text}">
  <rect width="100" height="20" fill="#444"/><rect x="100" width="80" height="20" fill="${colour}"/>
  <g fill="#fff" font-family="Verdana, sans-serif" font-size="11" text-anchor="middle">
    <text x="50" y="14">conformance</text><text x="140" y="14">${text}</text>
  </g>
</svg>
`
}
