import { BulkheadError, type RunsOn, type ScopedRule, type WorkersFor } from '@bulkhead/contract'
import { sorted } from '../model/settings.ts'
import type { ValidatedCall } from '../policy/call.ts'
import type { CallAnalysis } from '../policy/model/checked-call.ts'
import { ruleName } from '../policy/model/verdict.ts'

/** Where a call would run instead of on this machine. */
export interface ExplainedPlace extends RunsOn, WorkersFor {
  /** The rule that says it, by its name. Absent: the configuration of the extension. */
  readonly rule?: string
}

/** Where a rule says that a call runs. Throws CapabilityUnavailable as `placing` does. */
export const placeByRule = (call: ValidatedCall, analysis: CallAnalysis): RunsOn | undefined =>
  placing(call, analysis)?.place

/** Throws CapabilityUnavailable if the code of the call cannot run elsewhere: then it runs nowhere. */
function placing(
  call: ValidatedCall, analysis: CallAnalysis,
): { readonly place: RunsOn; readonly rule: ScopedRule } | undefined {
  const { tool, session: { policy } } = call
  const rule = policy.rules.placing(tool, policy.forTool(tool).unknown, analysis)
  if (rule?.runsOn === undefined) return undefined
  const { descriptor: { id }, arrangement } = tool.extension
  if (arrangement.isRemote) return { place: sorted({ ...arrangement.runsOn, ...rule.runsOn }), rule }
  const message = `${ruleName(rule)} says that "${tool.name}" runs on a worker, and "${id}" has no package that a worker could `
    + 'run, or the rule is not in the configuration. Change the rule.'
  throw new BulkheadError('CapabilityUnavailable', message)
}

/** undefined if it runs here. Throws CapabilityUnavailable as `placing` does. */
export async function explainPlace(
  call: ValidatedCall, analysis: CallAnalysis, workersFor: ((runsOn: RunsOn) => Promise<WorkersFor>) | undefined,
): Promise<ExplainedPlace | undefined> {
  const byRule = placing(call, analysis)
  const place = byRule?.place ?? call.tool.extension.arrangement.runsOn
  if (place === undefined) return undefined
  const found = await workersFor?.(place) ?? { ready: [], reasons: ['This host has no workers.'] }
  return { ...place, ...found, ...(byRule && { rule: ruleName(byRule.rule) }) }
}
