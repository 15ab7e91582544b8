import { insidePath, type Location } from '../../model/paths.ts'
import type { Step } from '../parse/plan.ts'
import { pathText } from './command-names.ts'
import type { Findings } from './findings.ts'

/** A step with the folder it runs in. */
export type RunStep = Extract<Step, { kind: 'run' }> & { readonly folder: string }
export type FolderStep = Extract<Step, { kind: 'cd' }> & { readonly folder: string }
export type ResolvedStep = RunStep | FolderStep

/** Resolves the folder of each step from the preceding `cd` steps. Does not access the file system. */
export function resolveSteps(steps: readonly Step[], context: Location, findings: Findings): readonly ResolvedStep[] {
  let { folder } = context
  return steps.map((step): ResolvedStep => {
    if (step.kind === 'run') return { ...step, folder }
    const next = insidePath(step.path, { ...context, folder })
    if (next === undefined) findings.deny(`the folder ${pathText(step.path)} is outside the workspace`)
    folder = next ?? folder
    return { ...step, folder }
  })
}
