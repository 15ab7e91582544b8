import type { ToolMode } from '@bulkhead/contract'
import type { TreatmentTable } from '../model/treatment-table.ts'
import type { CallAnalysis } from './checked-call.ts'
import { allow, askOfMode, type Verdict } from './verdict.ts'

/** What the mode of a tool asks, also about a tool that is not gated. */
export function questionOfMode(mode: ToolMode, table: TreatmentTable): Verdict | undefined {
  if (table[mode] !== 'ask') return undefined
  const reason = mode === 'local' ? 'the tool acts on this machine' : `tools of the mode ${mode} require approval`
  return askOfMode('tool-mode', `mode ${mode}`, reason)
}

/**
 * The allow in place of the question of the security mode. Not where that protects more than the tool: for a command
 * without a wall, or a file that can hold credentials.
 */
export function runsByMode(mode: ToolMode, { wall, onlyReads }: CallAnalysis, table: TreatmentTable): Verdict | undefined {
  const isExposed = wall?.wall === 'open' || onlyReads === 'unwalled' || onlyReads === 'reveals'
  return table[mode] !== 'run' || isExposed ? undefined
    : allow('tool-mode', `treatment ${mode}`, `tools of the mode ${mode} run without a question`)
}
