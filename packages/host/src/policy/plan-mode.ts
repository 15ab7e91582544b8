import { mayChange } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import { deny, type Verdict } from './model/verdict.ts'

/** Denies a call that may change something while its session plans. */
export function evaluatePlanMode(tool: ToolEntry, analysis: CallAnalysis): Verdict | undefined {
  if (analysis.onlyReads || changesNothing(tool)) return undefined
  return {
    ...deny('watchdog', 'WatchdogDenied', 'plan mode', 'the session is in plan mode, and the tool can change something'),
    cure: 'Complete the plan and present it with plan_exit, or call a tool that only reads.',
  }
}

/**
 * Whether no call of a tool changes anything outside of the session. The mode of a bundled tool is known to be right,
 * and a third party has the mode `read` only if it requires no more than to read files. With effects `none`, the host
 * refuses whatever could change something.
 */
function changesNothing({ definition, origin, extension }: ToolEntry): boolean {
  const { mode, requires, idempotent, effects } = definition
  const { manifest, server } = extension.descriptor
  if (mode === 'read' || effects === 'none') return true
  if (origin.layer === 'bundled') {
    const acts = (requires.fs?.write?.length ?? 0) > 0 || (requires.shell?.length ?? 0) > 0
    return !mayChange(requires) || (mode === 'external' && idempotent && !acts)
  }
  // What a server does is not visible in its requirements.
  return !mayChange(requires, manifest) && server === undefined
}

/** The bundled extension that keeps the plan of a session. */
const PLANNER = 'plan'

/**
 * Whether what an extension keeps for a session puts that session into plan mode; undefined if it is not the extension
 * that decides it. Other extensions, also of the same id in another layer, cannot enter or leave plan mode.
 */
export const planModeIn = (layer: string, extensionId: string, data: Json): boolean | undefined =>
  layer === 'bundled' && extensionId === PLANNER ? isJsonObject(data) && data['planning'] === true : undefined
