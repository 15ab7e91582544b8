import { reportLines, reportOf, type Report } from '@bulkhead/conformance'
import { BulkheadError } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import { lastPublished, type Packed, type Publication, type PublishingOptions } from '@bulkhead/loader'
import type { VersionReport } from '@bulkhead/loader/compare'
import { CORE_VERSION } from '../../facade/version.ts'
import { suiteProgress } from './conformance-progress.ts'
import { runSuite } from './conformance-run.ts'
import { readPublished, reportText, versionOf } from './diff.ts'
import { line } from '../review.ts'

/** What a version must pass before a registry gets it. */
export interface PublishChecks {
  readonly ok: boolean
  /** The latest version of the registry. null for the first publication. */
  readonly last: string | null
  /** How the version differs from the latest one. null if there is none to compare with. */
  readonly changes: Omit<VersionReport, 'needs'> | null
  readonly conformance: Report['summary'] | null
  /** For people: one line for each check that passed, and everything about one that did not. */
  readonly lines: readonly string[]
}

/** Compares with the latest version, then runs the suite. Rejects if the registry has this version already. */
export async function checkPublication(
  publication: Publication, { extension, warnings, fixtures }: Packed, registry: PublishingOptions['registry'],
  { home, config = {} }: { readonly home: string | undefined; readonly config: JsonObject | undefined },
): Promise<PublishChecks> {
  const last = await lastPublished(publication, registry)
  const compared = last === null ? FIRST : await compare(publication, extension, last, registry, home)
  const { changes } = compared
  if (changes?.ok === false) return { ok: false, last, changes, conformance: null, lines: compared.lines }
  const seed = 1
  const progress = suiteProgress()
  const suite = { extension, warnings, fixtures, config, live: false, seed, onProgress: progress.report }
  const { results } = await runSuite(suite).finally(() => progress.end())
  const { summary } = reportOf({ extension, hostVersion: CORE_VERSION, seed, results })
  const lines = summary.conforms ? [line('conforms', `${summary.must.passed} requirements`)] : [
    ...reportLines(results, (mark) => mark), '', 'It does not conform.', '',
  ]
  return { ok: summary.conforms, last, changes, conformance: summary, lines: [...compared.lines, ...lines] }
}

const FIRST = { changes: null, lines: [line('changes', 'none: the registry has no version of it')] } as const

async function compare(
  { name }: Publication, extension: Packed['extension'], last: string, registry: PublishingOptions['registry'],
  home: string | undefined,
): Promise<Pick<PublishChecks, 'changes' | 'lines'>> {
  const { compareVersions } = await import('@bulkhead/loader/compare')
  const spec = `${name}@${last}`
  let before: Awaited<ReturnType<typeof versionOf>>
  try {
    before = await versionOf(await readPublished(spec, { home }, async () => registry))
  } catch (error) {
    const { code, message } = BulkheadError.from(error)
    if (code === 'InstallSourceUnavailable') throw error
    // A placeholder that reserves the name is no extension.
    return { changes: null, lines: [line('changes', `unknown: ${spec} cannot be compared. ${visibleText(message)}`)] }
  }
  const { needs, ...changes } = compareVersions(before, await versionOf(extension))
  const text = `since ${last}: ${changes.required === 'none' ? 'nothing changed' : `needs ${needs}, has ${changes.to}`}`
  return { changes, lines: changes.ok ? [line('changes', text)] : [reportText(extension.id, { needs, ...changes })] }
}
