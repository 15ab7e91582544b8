import type { AffectedPath, CallEffects } from '@bulkhead/contract'
import { insidePath } from '../../model/path-keys.ts'
import { type EachStep, type GroupStep, isPlain, type Stage, type Step, type Word, wordList } from '../parse/plan.ts'
import { pathText } from './command-names.ts'
import type { Findings } from './findings.ts'
import { type Ground, readingUse, type ReadingUse, wordInside } from './known-uses.ts'
import { innermost, isHarmlessVariable } from './wrappers.ts'

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
  const inner = innermost(words)
  const use = readingUse(inner, ground, piped)
  // No wall stands around these: they are started by us, and not found by another program.
  const isDirect = assignments.length === 0 && inner.length === words.length
  return use?.beyond === true && !isDirect ? undefined : use
}

/** The steps that are run for a word: whatever they print becomes a part of it. */
export const innerSteps = ({ made }: Word): readonly (readonly Step[])[] =>
  (made?.parts ?? []).flatMap((part) => part.kind === 'output' ? [part.steps] : [])

/** What commands of a plan do. */
export interface Reads {
  /** Every command only reads. */
  readonly all: boolean
  /** One of them tells of more than the workspace. */
  readonly beyond: boolean
  /** No output goes to a file, and no input comes from outside. */
  readonly quiet: boolean
}

const both = (parts: readonly Reads[]): Reads => ({
  all: parts.every(({ all }) => all), beyond: parts.some(({ beyond }) => beyond), quiet: parts.every(({ quiet }) => quiet),
})

export const readsOf = (steps: readonly JudgedStep[], ground: Ground, findings: Findings): Reads =>
  both(steps.map((step) => readsOfStep(step, ground, findings)))

function readsOfStep(step: JudgedStep, ground: Ground, findings: Findings): Reads {
  switch (step.kind) {
    case 'cd':
      return { all: true, beyond: false, quiet: true }
    case 'group':
      return readsOf(step.steps, ground, findings)
    case 'each': {
      const here = { ...ground, folder: step.folder }
      const quiet = !('file' in step.over) || insidePath(step.over.file, here) !== undefined
      return both([
        { all: true, beyond: false, quiet }, readsOf(step.steps, ground, findings), wordsRead('file' in step.over ? [] : step.over, here, findings),
      ])
    }
    case 'run': {
      const here = { ...ground, folder: step.folder }
      const own: Reads = {
        all: step.uses.every((use) => use !== undefined),
        beyond: step.uses.some((use) => use?.beyond === true),
        quiet: step.stages.every((stage) => streamsRead(stage, here)),
      }
      return both([own, wordsRead(step.stages.flatMap((stage) => stage.words), here, findings)])
    }
  }
}

const wordsRead = (words: readonly Word[], ground: Ground, findings: Findings): Reads =>
  both(words.flatMap(innerSteps).map((steps) => readsOf(placeSteps(steps, ground, findings), ground, findings)))

/** Whether it writes no file, and reads none outside. */
const streamsRead = ({ stdin, stdout, stderr }: Stage, ground: Ground): boolean =>
  typeof stdout === 'string' && typeof stderr === 'string'
  && (stdin === undefined || !('file' in stdin) || insidePath(stdin.file, ground) !== undefined)

/** Programs that look at everything below what they are given, or below the folder they are started in. */
const DEEP: ReadonlySet<string> = new Set(wordList('find rg du tree diff'))
const RECURSIVE = /^-[a-zA-Z]*[rR]|^--recursive$|recurse$/

/**
 * What the files are that a plan of commands which only read touches, by its words; also those that output is redirected to. More is
 * said rather than less: all of the workspace where that is not known. `beyond`: they read elsewhere too.
 */
export function effectsOf(steps: readonly JudgedStep[], ground: Ground, beyond: boolean): CallEffects {
  const reads = steps.flatMap((step) => filesOfStep(step, ground)).map((path) => path ?? everything(ground))
  const targets = steps.flatMap((step) => step.kind === 'run' ? targetsOf(step) : [])
  const writes = targets.map(({ file, folder }) => affected(file, false, { ...ground, folder }))
  return { ...(!beyond && { reads }), ...(writes.every((path) => path !== undefined) && { writes }), net: false }
}

const everything = ({ workspace }: Ground): AffectedPath => ({ path: workspace, below: true })

function filesOfStep(step: JudgedStep, ground: Ground): readonly (AffectedPath | undefined)[] {
  switch (step.kind) {
    case 'cd':
      return []
    case 'group':
      return step.steps.flatMap((inner) => filesOfStep(inner, ground))
    case 'each':
      return [undefined]
    case 'run':
      return step.stages.flatMap((stage, index) => {
        const here = { ...ground, folder: step.folder }
        const { stdin } = stage
        const input = stdin !== undefined && 'file' in stdin ? [affected(stdin.file, false, here)] : []
        return [...input, ...filesOfWords(innermost(stage.words), step.uses[index]!, here)]
      })
  }
}

function filesOfWords(words: readonly Word[], { paths, fed }: NonNullable<RunStep['uses'][number]>, ground: Ground): readonly (AffectedPath | undefined)[] {
  const program = words[0]!.text
  if (program === 'git' || fed !== undefined || words.some((word) => word.made !== undefined) || !paths.every(isPlain)) return [undefined]
  const isRecursive = (program === 'ls' || program === 'grep') && words.some(({ text }) => RECURSIVE.test(text))
  const below = DEEP.has(program) || isRecursive
  const named = paths.map(({ text }) => text).filter((text) => text !== '-' && text !== '/dev/null')
  const isHere = named.length === 0 && (below || program === 'ls')
  return (isHere ? ['.'] : named).map((path) => affected(path, below, ground))
}

const targetsOf = ({ stages, folder }: RunStep) => stages.flatMap(({ stdout, stderr }) =>
  [stdout, stderr].flatMap((target) => typeof target === 'string' ? [] : [{ file: target.file, folder }]))

/** undefined where `..` may lead elsewhere than it reads. */
function affected(path: string, below: boolean, ground: Ground): AffectedPath | undefined {
  const inside = path.split('/').includes('..') ? undefined : insidePath(path, ground)
  if (inside === undefined) return undefined
  return { path: inside === '.' ? ground.workspace : `${ground.workspace}/${inside}`, below }
}
