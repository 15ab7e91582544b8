import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { ABORT_REQUIREMENTS, observeAbort } from './abort.ts'
import { KEY_REQUIREMENTS, observeKeys } from './approval-keys.ts'
import { CALL_REQUIREMENTS } from './call-requirements.ts'
import { observeCalls, type CallsFacts } from './calls.ts'
import { CONFIG_REQUIREMENTS, observeConfig, withConfig } from './config.ts'
import { DECLARED_POWER_REQUIREMENTS } from './declared-powers.ts'
import { DELIVERY_REQUIREMENTS, observeDelivery } from './delivery.ts'
import { LEAK_REQUIREMENTS, observeLeaks } from './leaks.ts'
import { evidenceOf, LIFECYCLE_REQUIREMENTS, observeLifecycle } from './lifecycle.ts'
import { MANIFEST_REQUIREMENTS } from './manifest.ts'
import { OUTPUT_REQUIREMENTS } from './output-requirements.ts'
import { observePackage, PACKAGE_REQUIREMENTS } from './package.ts'
import { Patience } from './patience.ts'
import { observePowers, POWER_REQUIREMENTS } from './powers.ts'
import { observeReload, RELOAD_REQUIREMENTS } from './reload.ts'
import { chosenBy, type Requirement } from './requirement.ts'
import { SCHEMA_REQUIREMENTS } from './schemas.ts'
import { observeState, STATE_REQUIREMENTS } from './state.ts'
import { requireTarget, type ConformanceTarget, type RunTarget } from './target.ts'
import { findUndeclared } from './undeclared.ts'

/** All requirements, by group. Each group is checked on the facts of one experiment. */
export const REQUIREMENTS = {
  manifest: [...MANIFEST_REQUIREMENTS, ...SCHEMA_REQUIREMENTS, ...DECLARED_POWER_REQUIREMENTS],
  package: PACKAGE_REQUIREMENTS,
  lifecycle: LIFECYCLE_REQUIREMENTS,
  calls: [...CALL_REQUIREMENTS, ...OUTPUT_REQUIREMENTS],
  config: CONFIG_REQUIREMENTS,
  delivery: DELIVERY_REQUIREMENTS,
  state: STATE_REQUIREMENTS,
  reload: RELOAD_REQUIREMENTS,
  leaks: LEAK_REQUIREMENTS,
  abort: ABORT_REQUIREMENTS,
  keys: KEY_REQUIREMENTS,
  powers: POWER_REQUIREMENTS,
} as const

export type RequirementGroup = keyof typeof REQUIREMENTS

/** Groups whose experiments call tools. */
const CALLING = ['calls', 'config', 'delivery', 'state', 'reload', 'leaks', 'abort', 'keys', 'powers'] as const

/** Requirements and groups that need calls which are made again. */
const REPEATING = {
  calls: ['call-parallel', 'read-deterministic', 'idempotent-repeats', 'idempotent-effect', 'parallel-same'],
  groups: ['config', 'state', 'reload', 'leaks', 'abort'],
} as const

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
  /** What is being done; for calls also how many are done. */
  readonly onProgress?: (text: string, done?: number, all?: number) => void
  /** How long to wait, in all, for calls and phases that hang. Default: 30 s. */
  readonly budgetMs?: number
}

/**
 * Runs the experiments that the chosen requirements need, and checks each. Contract: does not throw for anything the
 * extension does, and leaves no compartment behind. Rejects with ConfigInvalid for an invalid target or unknown id.
 */
export async function conform(given: ConformanceTarget, options: SuiteOptions = {}): Promise<readonly CheckResult[]> {
  requireTarget(given)
  const { only, seed = 1, budgetMs } = options
  const isChosen = chosenBy(only, REQUIREMENTS)
  const patience = new Patience(budgetMs)
  const target: RunTarget = { ...withConfig(given, seed), patience, called: new Map() }
  try {
    const results = await runGroups(target, isChosen, { ...options, seed })
    return results.toSorted((one, other) => Number(isCause(other)) - Number(isCause(one)))
  } finally {
    const others = await Promise.allSettled(target.called.values())
    await Promise.all(others.map((one) => one.status === 'fulfilled' ? one.value.session.close() : undefined))
  }
}

/** A tool that lacks a power breaks other requirements too. */
const isCause = ({ id, ok }: CheckResult): boolean => id === 'power-declared' && ok === false

async function runGroups(
  target: RunTarget, isChosen: (group: string, id: string) => boolean,
  { seed, onProgress = () => undefined }: SuiteOptions & { readonly seed: number },
): Promise<readonly CheckResult[]> {
  const { patience } = target
  const results: CheckResult[] = []
  const wants = (group: RequirementGroup): boolean => REQUIREMENTS[group].some(({ id }) => isChosen(group, id))
  const check = <Facts>(
    group: RequirementGroup, requirements: readonly Requirement<Facts>[], facts: Facts | string, missing?: string,
  ): void => {
    for (const { check: evidenceIn, ...requirement } of requirements) {
      if (!isChosen(group, requirement.id)) continue
      const found = typeof facts === 'string' ? null : evidenceIn(facts)
      // Facts of an experiment that was cut short prove a fault, and not that there is none.
      const ok = found === null || (found === undefined && patience.reason !== undefined) ? null : found === undefined
      const why = typeof facts === 'string' ? facts : patience.reason ?? missing
      const evidence = ok === null ? why : found
      results.push({ group, ...requirement, ok, ...(typeof evidence === 'string' && { evidence }) })
    }
  }

  onProgress('reading the package')
  const found = await observePackage(target)
  check('manifest', REQUIREMENTS.manifest, found)
  check('package', PACKAGE_REQUIREMENTS, found)

  const needsCalls = CALLING.some(wants)
  if (!wants('lifecycle') && !needsCalls) return results
  onProgress('starting and stopping')
  const lifecycle = await attempt(() => observeLifecycle(target, (id) => isChosen('lifecycle', id), needsCalls))
  const isStarted = typeof lifecycle !== 'string' && !lifecycle.start
  const why = isChosen('lifecycle', 'exports') || typeof lifecycle === 'string' || !lifecycle.start
    ? '' : `: ${evidenceOf(lifecycle.start)}`
  const notStarted = `the extension does not start${why}`
  check('lifecycle', LIFECYCLE_REQUIREMENTS, lifecycle, notStarted)
  if (!needsCalls) return results

  const broken = typeof lifecycle === 'string' ? lifecycle : isStarted
    ? patience.reason ?? (lifecycle.inOrder ? 'a lifecycle phase fails' : undefined) : notStarted
  const progress = (tool: string, done: number, all: number): void => onProgress(`calling ${tool}`, done, all)
  const calls = broken ?? await attempt(async () => {
    const repeats = REPEATING.groups.some(wants) || REPEATING.calls.some((id) => isChosen('calls', id))
    const made = await observeCalls(target, { seed, repeats, progress })
    return { ...made, causes: await findUndeclared(target, made.calls) }
  })
  check('calls', REQUIREMENTS.calls, calls)
  if (wants('config')) {
    onProgress('trying configurations')
    // A configuration may be the reason why a phase fails.
    const canOpen = patience.reason ?? (isStarted ? undefined : notStarted)
    const reliable = typeof calls === 'string' ? [] : calls.reliable
    check('config', CONFIG_REQUIREMENTS, canOpen
      ?? await attempt(() => observeConfig(target, { seed, calls: reliable })))
  }
  /** An experiment that needs the calls. */
  const experiment = async <Facts>(
    group: RequirementGroup, requirements: readonly Requirement<Facts>[], text: string,
    observe: (facts: CallsFacts) => Promise<Facts | string>,
  ): Promise<void> => {
    if (!wants(group)) return
    onProgress(text)
    const facts = patience.reason ?? (typeof calls === 'string' ? calls : await attempt(() => observe(calls)))
    check(group, requirements, facts)
  }
  await experiment('delivery', DELIVERY_REQUIREMENTS, 'showing results to a client', (facts) =>
    observeDelivery(target, facts))
  await experiment('state', STATE_REQUIREMENTS, 'trying stored states', (facts) => observeState(target, facts, seed))
  await experiment('reload', RELOAD_REQUIREMENTS, 'reloading', (facts) => observeReload(target, facts))
  await experiment('leaks', LEAK_REQUIREMENTS, 'looking for leaks', (facts) => observeLeaks(target, facts))
  await experiment('abort', ABORT_REQUIREMENTS, 'cancelling calls', (facts) => observeAbort(target, facts))
  await experiment('keys', KEY_REQUIREMENTS, 'deriving approval keys', (facts) => observeKeys(target, facts))
  await experiment('powers', POWER_REQUIREMENTS, 'comparing powers', async (facts) => observePowers(target, facts))
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
