import type { ToolMode } from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { TreatmentTable } from '../model/treatment-table.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import { allow, askOfMode, type Verdict } from './model/verdict.ts'

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
export function runsByMode(tool: ToolEntry, analysis: CallAnalysis, table: TreatmentTable): Verdict | undefined {
  const { mode } = tool.definition
  return table[mode] !== 'run' || isExposed(tool, analysis) ? undefined
    : allow('tool-mode', `treatment ${mode}`, `tools of the mode ${mode} run without a question`)
}

/** Of a third-party tool the arguments do not tell which files it reads. */
const isExposed = ({ canReveal, origin: { layer } }: ToolEntry, { wall, onlyReads }: CallAnalysis): boolean =>
  wall?.wall === 'open' || onlyReads === 'unwalled' || onlyReads === 'reveals' || (canReveal && layer !== 'bundled')
