import { expect } from 'vitest'
import type { PortGroup, PortReport } from '../../src/index.ts'

type Groups = Readonly<Record<string, Pick<PortGroup<never>, 'requirements'>>>

/** The groups whose experiments show that an implementation breaks these requirements. */
export const brokenBy = (groups: Groups, breaks: readonly string[]): readonly string[] =>
  Object.entries(groups).filter(([, { requirements }]) => requirements.some(({ id }) => breaks.includes(id)))
    .map(([name]) => name)

/** Each requirement is well formed, and some faulty implementation breaks it. */
export function expectEachBroken(
  groups: Groups, faulty: Readonly<Record<string, { readonly breaks: readonly string[] }>>,
): void {
  const all = Object.values(groups).flatMap(({ requirements }) => requirements)
  const ids = all.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { statement, why, cure, spec } of all) {
    for (const text of [statement, why, cure]) expect(text).toMatch(/^[A-Za-z`].*\.$/)
    expect(spec).toMatch(/^docs\/.*\.md$/)
  }
  const broken = new Set(Object.values(faulty).flatMap(({ breaks }) => breaks))
  expect(ids.filter((id) => !broken.has(id))).toEqual([])
  expect([...broken].filter((id) => !ids.includes(id))).toEqual([])
}

/** The requirements that failed. Every check of the report ran. */
export function faultsIn({ checks }: PortReport): readonly string[] {
  expect(checks.filter(({ ok }) => ok === null)).toEqual([])
  return checks.filter(({ ok }) => ok === false).map(({ id }) => id).toSorted()
}
