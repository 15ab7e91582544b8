import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { TreatmentTable } from '../model/treatment-table.ts'
import type { CallAnalysis } from './checked-call.ts'
import { allow, ask, type Verdict } from './verdict.ts'

/**
 * The verdicts with the questions that the mode of the tool asks. `run` leaves out the question of the security mode,
 * except where it protects more than the tool: a command without a wall, or a file that can hold credentials. Rules,
 * watchdogs, guards and state machines decide as before.
 */
export function treat(
  verdicts: readonly Verdict[], tool: ToolEntry, analysis: CallAnalysis, table: TreatmentTable,
): readonly Verdict[] {
  const { mode } = tool.definition
  const treatment = table[mode]
  const asks = verdicts.some(({ stage }) => stage === 'tool-mode')
  if (treatment === 'ask') {
    return asks || analysis.onlyReads === true
      ? verdicts : [...verdicts, ask('tool-mode', `mode ${mode}`, `tools of the mode ${mode} require approval`, true)]
  }
  const own = asks ? verdicts.filter(({ stage }) => stage !== 'tool-mode') : verdicts
  if (treatment === 'gate' || isExposed(tool, analysis)) return own
  const without = own.filter(({ stage, action }) => stage !== 'security-mode' || action !== 'ask')
  return without.length === verdicts.length
    ? verdicts : [...without, allow('tool-mode', `treatment ${mode}`, `tools of the mode ${mode} run without a question`)]
}

/** Of a third-party tool the arguments do not tell which files it reads. */
const isExposed = ({ canReveal, origin: { layer } }: ToolEntry, { wall, onlyReads }: CallAnalysis): boolean =>
  wall?.wall === 'open' || onlyReads === 'unwalled' || onlyReads === 'reveals' || (canReveal && layer !== 'bundled')
