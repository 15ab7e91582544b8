import type { EachStep, GroupStep, Stage, Step, Word } from '../reading/plan.ts'
import { pathText } from './command-text.ts'
import type { Findings } from './findings.ts'
import { insidePath, wordInside, type Ground } from './ground.ts'
import { innermost } from './judge-words.ts'
import { readingUse, type ReadingUse } from './known-uses.ts'
import { isHarmlessVariable } from './variables.ts'

export type RunStep = Extract<Step, { kind: 'run' }> & {
  readonly folder: string
  /** For each stage, how it only reads; undefined for one that may do more. */
  readonly uses: readonly (ReadingUse | undefined)[]
}
export type FolderStep = Extract<Step, { kind: 'cd' }> & { readonly folder: string }
export type JudgedEach = Omit<EachStep, 'steps'> & { readonly folder: string; readonly steps: readonly JudgedStep[] }

/** A step as it is judged and run. */
export type JudgedStep =
  | RunStep
  | FolderStep
  | (Omit<GroupStep, 'steps'> & { readonly steps: readonly JudgedStep[] })
  | JudgedEach

/** Follows every `cd` by its name alone. */
export function placeSteps(steps: readonly Step[], ground: Ground, findings: Findings): readonly JudgedStep[] {
  let { folder } = ground
  return steps.map((step): JudgedStep => {
    const here = { ...ground, folder }
    switch (step.kind) {
      case 'run':
        return { ...step, folder, uses: usesOf(step.stages, here) }
      case 'group':
        return { ...step, steps: placeSteps(step.steps, here, findings) }
      case 'each':
        return { ...step, folder, steps: placeSteps(step.steps, inLoop(step, here), findings) }
      case 'cd': {
        const next = insidePath(step.path, here)
        if (next === undefined) findings.deny(`the folder ${pathText(step.path)} lies outside the workspace`)
        folder = next ?? folder
        return { ...step, folder }
      }
    }
  })
}

/** The variable stands for files of the workspace where every word it goes through does. */
function inLoop({ name, over }: EachStep, ground: Ground): Ground {
  const names = new Set(ground.names)
  names.delete(name)
  if (Array.isArray(over) && over.every((word: Word) => wordInside(word, ground))) names.add(name)
  return { ...ground, names }
}

function usesOf(stages: readonly Stage[], ground: Ground): readonly (ReadingUse | undefined)[] {
  const uses: (ReadingUse | undefined)[] = []
  for (const [index, stage] of stages.entries()) {
    const use = useOf(stage, ground, index > 0)
    // What is read by its names must come from commands that only read too.
    uses.push(use?.fed !== undefined && !uses.every((before) => before !== undefined) ? undefined : use)
  }
  return uses
}

function useOf({ assignments, words }: Stage, ground: Ground, piped: boolean): ReadingUse | undefined {
  if (!assignments.every(([name, value]) => isHarmlessVariable(name, value))) return undefined
  return readingUse(innermost(words), ground, piped)
}

/** The steps that are run for a word: whatever they print becomes a part of it. */
export const innerSteps = ({ made }: Word): readonly (readonly Step[])[] =>
  (made?.parts ?? []).flatMap((part) => part.kind === 'output' ? [part.steps] : [])

/** Whether a plan does nothing but read, and `beyond` whether it tells of more than the workspace. */
export function readsOf(steps: readonly JudgedStep[], ground: Ground, findings: Findings): { readonly all: boolean; readonly beyond: boolean } {
  const found = steps.map((step): { readonly all: boolean; readonly beyond: boolean } => {
    switch (step.kind) {
      case 'cd':
        return { all: true, beyond: false }
      case 'group':
        return readsOf(step.steps, ground, findings)
      case 'each': {
        const isInside = Array.isArray(step.over) || insidePath((step.over as { readonly file: string }).file, { ...ground, folder: step.folder }) !== undefined
        const inner = readsOf(step.steps, ground, findings)
        const over = wordsRead(Array.isArray(step.over) ? step.over : [], { ...ground, folder: step.folder }, findings)
        return { all: isInside && inner.all && over.all, beyond: inner.beyond || over.beyond }
      }
      case 'run': {
        const here = { ...ground, folder: step.folder }
        const words = wordsRead(step.stages.flatMap((stage) => stage.words), here, findings)
        const all = step.uses.every((use) => use !== undefined) && step.stages.every((stage) => streamsRead(stage, here))
        return { all: all && words.all, beyond: words.beyond || step.uses.some((use) => use?.beyond === true) }
      }
    }
  })
  return { all: found.every(({ all }) => all), beyond: found.some(({ beyond }) => beyond) }
}

function wordsRead(words: readonly Word[], ground: Ground, findings: Findings): { readonly all: boolean; readonly beyond: boolean } {
  const inner = words.flatMap(innerSteps).map((steps) => readsOf(placeSteps(steps, ground, findings), ground, findings))
  return { all: inner.every(({ all }) => all), beyond: inner.some(({ beyond }) => beyond) }
}

/** Whether it writes no file, and reads none outside. */
const streamsRead = ({ stdin, stdout, stderr }: Stage, ground: Ground): boolean =>
  typeof stdout === 'string' && typeof stderr === 'string'
  && (stdin === undefined || !('file' in stdin) || insidePath(stdin.file, ground) !== undefined)
