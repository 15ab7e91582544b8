import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { meantNames } from '@bulkhead/kit/text'
import { ABORT_REQUIREMENTS, observeAbort } from './abort.ts'
import { KEY_REQUIREMENTS, observeKeys } from './approval-keys.ts'
import { CALL_REQUIREMENTS } from './call-requirements.ts'
import { observeCalls } from './calls.ts'
import { DECLARED_POWER_REQUIREMENTS } from './declared-powers.ts'
import { LIFECYCLE_REQUIREMENTS, observeLifecycle } from './lifecycle.ts'
import { MANIFEST_REQUIREMENTS } from './manifest.ts'
import { observePackage, PACKAGE_REQUIREMENTS } from './package.ts'
import { observePowers, POWER_REQUIREMENTS } from './powers.ts'
import type { Requirement } from './requirement.ts'
import { SCHEMA_REQUIREMENTS } from './schemas.ts'
import { requireTarget, type ConformanceTarget } from './target.ts'

/** All requirements, by group. Each group is checked on the facts of one experiment. */
export const REQUIREMENTS = {
  manifest: [...MANIFEST_REQUIREMENTS, ...SCHEMA_REQUIREMENTS, ...DECLARED_POWER_REQUIREMENTS],
  package: PACKAGE_REQUIREMENTS,
  lifecycle: LIFECYCLE_REQUIREMENTS,
  calls: CALL_REQUIREMENTS,
  abort: ABORT_REQUIREMENTS,
  keys: KEY_REQUIREMENTS,
  powers: POWER_REQUIREMENTS,
} as const

export type RequirementGroup = keyof typeof REQUIREMENTS

export interface CheckResult<Group extends string = RequirementGroup> extends Omit<Requirement<never>, 'check'> {
  readonly group: Group
  /** null: the check could not run. */
  readonly ok: boolean | null
  /** What breaks the requirement, or why the check could not run. */
  readonly evidence?: string
}

export interface SuiteOptions {
  /** Ids of requirements, or of groups. Default: all. */
  readonly only?: readonly string[]
  /** For the generated arguments. Default: 1. */
  readonly seed?: number
  readonly onProgress?: (text: string) => void
}

/**
 * Runs the experiments that the chosen requirements need, and checks each. Contract: does not throw for anything the
 * extension does, and leaves no compartment behind. Rejects with ConfigInvalid for an invalid target or unknown id.
 */
export async function conform(target: ConformanceTarget, options: SuiteOptions = {}): Promise<readonly CheckResult[]> {
  requireTarget(target)
  const { only, seed = 1, onProgress = () => undefined } = options
  const isChosen = chosenBy(only)
  const results: CheckResult[] = []
  const wants = (group: RequirementGroup): boolean => REQUIREMENTS[group].some(({ id }) => isChosen(group, id))
  const check = <Facts>(
    group: RequirementGroup, requirements: readonly Requirement<Facts>[], facts: Facts | string,
  ): void => {
    for (const { check: evidenceIn, ...requirement } of requirements) {
      if (!isChosen(group, requirement.id)) continue
      const evidence = typeof facts === 'string' ? facts : evidenceIn(facts)
      const ok = typeof facts === 'string' ? null : evidence === undefined
      results.push({ group, ...requirement, ok, ...(evidence !== undefined && { evidence }) })
    }
  }

  onProgress('reading the package')
  const found = await observePackage(target)
  check('manifest', REQUIREMENTS.manifest, found)
  check('package', PACKAGE_REQUIREMENTS, found)

  const needsRun = wants('calls') || wants('abort') || wants('keys') || wants('powers')
  if (!wants('lifecycle') && !needsRun) return results
  onProgress('starting and stopping')
  const lifecycle = await attempt(() => observeLifecycle(target))
  check('lifecycle', LIFECYCLE_REQUIREMENTS, lifecycle)
  if (!needsRun) return results

  const broken = typeof lifecycle === 'string' ? lifecycle
    : lifecycle.start ? 'the extension does not start' : lifecycle.inOrder && 'a lifecycle phase fails'
  const progress = (done: number, all: number): void => onProgress(`calling tools, ${done} of ${all}`)
  const calls = broken ?? await attempt(() => observeCalls(target, { seed, progress }))
  check('calls', CALL_REQUIREMENTS, calls)
  onProgress('cancelling calls')
  const aborted = typeof calls === 'string' ? calls : await attempt(() => observeAbort(target, calls))
  check('abort', ABORT_REQUIREMENTS, aborted)
  onProgress('deriving approval keys')
  const keys = typeof calls === 'string' ? calls : await attempt(() => observeKeys(target, calls))
  check('keys', KEY_REQUIREMENTS, keys)
  check('powers', POWER_REQUIREMENTS, typeof calls === 'string' ? calls : observePowers(target, calls))
  return results
}

/** Why an experiment could not be done, if it could not. */
async function attempt<Facts>(experiment: () => Promise<Facts>): Promise<Facts | string> {
  try {
    return await experiment()
  } catch (thrown) {
    return BulkheadError.is(thrown) ? `${thrown.code}: ${thrown.message}` : messageOf(thrown)
  }
}

function chosenBy(only: readonly string[] | undefined): (group: RequirementGroup, id: string) => boolean {
  const groups = Object.keys(REQUIREMENTS)
  const known = [...groups, ...Object.values(REQUIREMENTS).flat().map(({ id }) => id)]
  const unknown = only?.find((id) => !known.includes(id))
  if (unknown !== undefined) {
    throw new BulkheadError('ConfigInvalid', `There is no requirement "${unknown}".${meantNames(unknown, known)}`)
  }
  return (group, id) => only === undefined || only.includes(id) || only.includes(group)
}
