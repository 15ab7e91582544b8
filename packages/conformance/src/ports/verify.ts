import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { BulkheadError } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { summaryOf, type Report } from '../report.ts'
import { chosenBy, type Requirement } from '../requirement.ts'
import type { CheckResult } from '../suite.ts'

/** The result of a run against one port. The checks and the summary have the form of those of an extension. */
export interface PortReport {
  readonly port: 'loader' | 'sandbox' | 'store' | 'host'
  readonly checks: readonly CheckResult<string>[]
  readonly summary: Report['summary']
}

export interface VerifyOptions {
  /** Ids of requirements, or of groups. Default: all. */
  readonly only?: readonly string[]
  /** How long something may stay pending before it counts as never settled. Default: 30 seconds. */
  readonly patienceMs?: number
  readonly onProgress?: (text: string) => void
}

const PATIENCE_MS = 30_000
/** A check waits several times, and some waits have no limit of their own. */
const WAITS = 4
/** An experiment that hangs is given up. */
const MOST_WAITS = 12

/** What an experiment gets besides its target: a folder of its own, and how long to wait. */
export interface Bench {
  /** Canonical, empty, and removed after the experiment. */
  readonly folder: string
  readonly patienceMs: number
}

type Evidence = string | undefined | null

/** A requirement whose check may try something with what is verified. */
export type PortRequirement<Facts> = Omit<Requirement<Facts>, 'check'> & {
  readonly check: (facts: Facts) => Evidence | Promise<Evidence>
}

type Found = readonly (string | undefined)[]

/** An experiment, and the requirements that are checked on its facts. */
export interface PortGroup<Target> {
  readonly requirements: readonly Omit<Requirement<never>, 'check'>[]
  /** One evidence for each requirement, in order. */
  run(target: Target, bench: Bench): Promise<Found>
}

/** `use` sets an experiment up, runs the checks, and clears it away. */
export const groupOf = <Target, Facts>(
  use: (target: Target, bench: Bench, check: (facts: Facts) => Promise<Found>) => Promise<Found>,
  requirements: readonly PortRequirement<Facts>[],
): PortGroup<Target> => ({
  requirements,
  run: (target, bench) => use(target, bench, async (facts) => {
    const found: (string | undefined)[] = []
    for (const { check } of requirements) {
      const ended = await settle(async () => check(facts), { patienceMs: bench.patienceMs * WAITS })
      found.push(unlessDone(ended) ?? ended.value ?? undefined)
    }
    return found
  }),
})

/** For checks that need only the facts of a finished experiment. */
export const observed = <Target, Facts>(observe: (target: Target, bench: Bench) => Promise<Facts>) =>
  async (target: Target, bench: Bench, check: (facts: Facts) => Promise<Found>): Promise<Found> =>
    check(await observe(target, bench))

export type PortGroups<Target> = Readonly<Record<string, PortGroup<Target>>>

/**
 * Runs the experiments that the chosen requirements need. Contract: does not throw for anything the implementation
 * does. Rejects with ConfigInvalid for an unknown id.
 */
export async function verifyPort<Target>(
  port: PortReport['port'], groups: PortGroups<Target>, target: Target, options: VerifyOptions = {},
): Promise<PortReport> {
  const { only, patienceMs = PATIENCE_MS, onProgress = () => undefined } = options
  const byGroup = Object.entries(groups).map(([group, { requirements }]) => [group, requirements] as const)
  const isChosen = chosenBy(only, Object.fromEntries(byGroup))
  const checks: CheckResult<string>[] = []
  for (const [group, { requirements, run }] of Object.entries(groups)) {
    if (!requirements.some(({ id }) => isChosen(group, id))) continue
    onProgress(`${port}: ${group}`)
    const folder = await realpath(await mkdtemp(join(tmpdir(), `bulkhead-verify-${port}-`)))
    const found = await evidenceOf(() => run(target, { folder, patienceMs }), patienceMs)
    await rm(folder, { recursive: true, force: true })
    requirements.forEach((requirement, index) => {
      const { id, level, statement, why, spec, cure } = requirement
      if (!isChosen(group, id)) return
      const evidence = typeof found === 'string' ? found : found[index]
      const ok = typeof found === 'string' ? null : evidence === undefined
      checks.push({ group, id, level, statement, why, spec, cure, ok, ...(evidence !== undefined && { evidence }) })
    })
  }
  return { port, checks, summary: summaryOf(checks) }
}

/** The evidence for each requirement, or why the experiment could not be done. */
async function evidenceOf(
  run: () => Promise<Found>, patienceMs: number,
): Promise<Found | string> {
  const ended = await settle(run, { patienceMs: patienceMs * MOST_WAITS })
  return ended.value ?? wordsOf(ended)
}

/** How a promise settled. `times` is above 1 for a thenable that calls back again. */
export type Settled<Value> = {
  readonly times: number
  readonly value?: Value
  readonly error?: BulkheadError
  /** Set if the error is not a BulkheadError. */
  readonly isUntyped?: true
}

/** Waits for a promise, but not forever. Contract: never rejects. */
export function settle<Value>(
  work: () => PromiseLike<Value>, { patienceMs }: Pick<Bench, 'patienceMs'>,
): Promise<Settled<Value>> {
  return new Promise((resolve) => {
    let times = 0
    let first: Omit<Settled<Value>, 'times'> = {}
    const timer = setTimeout(() => resolve({ times: 0 }), patienceMs)
    const done = (how: Omit<Settled<Value>, 'times'>): void => {
      if (++times > 1) return
      first = how
      clearTimeout(timer)
      // A second callback comes in the same tick, if at all.
      setImmediate(() => resolve({ times, ...first }))
    }
    const failed = (thrown: unknown): void =>
      done({ error: BulkheadError.from(thrown), ...(!BulkheadError.is(thrown) && { isUntyped: true }) })
    try {
      work().then((value) => done({ value }), failed)
    } catch (thrown) {
      failed(thrown)
    }
  })
}

/** How it settled, in a few words, for evidence. */
function wordsOf({ times, value, error, isUntyped }: Settled<unknown>): string {
  if (times === 0) return 'it never settled'
  if (error) return `${isUntyped ? 'it failed with an untyped error' : error.code}: ${error.message}`
  return `it resolved with ${shown(value)}`
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 120) ?? 'undefined'

/** Evidence if it did not reject with one of the codes. */
export const unlessRejected = (settled: Settled<unknown>, ...codes: readonly string[]): string | undefined =>
  !settled.isUntyped && settled.error && codes.includes(settled.error.code) ? undefined : wordsOf(settled)

/** Evidence if it did not resolve. */
export const unlessDone = (settled: Settled<unknown>): string | undefined =>
  settled.times > 0 && !settled.error ? undefined : wordsOf(settled)

/** Evidence if a value is not the expected one. */
export const unlessSame = (actual: unknown, expected: unknown, what = 'it'): string | undefined =>
  isDeepStrictEqual(actual, expected) ? undefined : `${what} is ${shown(actual)} instead of ${shown(expected)}`

/** Evidence if it did not resolve with the value. */
export const unlessResolved = (settled: Settled<Json>, value: Json): string | undefined =>
  settled.value !== undefined && canonicalJson(settled.value) === canonicalJson(value) ? undefined : wordsOf(settled)
