import type { AffectedPath, CallEffects } from '@bulkhead/contract'
import { absolute, insidePath } from '../../model/paths.ts'
import { type GroupStep, isPlain, type LoopStep, type Stage, type Step, type Word, wordList } from '../parse/plan.ts'
import { pathText } from './command-names.ts'
import type { Findings } from './findings.ts'
import { type CommandContext, readOnlyUse, type ReadOnlyUse, wordInside } from './known-uses.ts'
import { READ_ONLY_PROGRAMS } from './read-only-programs.ts'
import { innermost, isHarmlessVariable } from './wrappers.ts'

export type RunStep = Extract<Step, { kind: 'run' }> & {
  readonly folder: string
  /** The read-only use of each stage. Undefined for a stage that may do more than read. */
  readonly uses: readonly (ReadOnlyUse | undefined)[]
}
export type FolderStep = Extract<Step, { kind: 'cd' }> & { readonly folder: string }
export type ResolvedLoop = Omit<LoopStep, 'steps'> & {
  readonly folder: string
  readonly steps: readonly ResolvedStep[]
}

/** A step with the folder it runs in. */
export type ResolvedStep =
  | RunStep
  | FolderStep
  | (Omit<GroupStep, 'steps'> & { readonly steps: readonly ResolvedStep[] })
  | ResolvedLoop

/** Resolves the folder of each step from the preceding `cd` steps. Does not access the file system. */
export function resolveSteps(
  steps: readonly Step[], context: CommandContext, findings: Findings,
): readonly ResolvedStep[] {
  let { folder } = context
  return steps.map((step): ResolvedStep => {
    const here = { ...context, folder }
    switch (step.kind) {
      case 'run':
        return { ...step, folder, uses: usesOf(step.stages, here) }
      case 'group':
        return { ...step, steps: resolveSteps(step.steps, here, findings) }
      case 'loop':
        return { ...step, folder, steps: resolveSteps(step.steps, inLoop(step, here), findings) }
      case 'cd': {
        const next = insidePath(step.path, here)
        if (next === undefined) findings.deny(`the folder ${pathText(step.path)} is outside the workspace`)
        folder = next ?? folder
        return { ...step, folder }
      }
    }
  })
}

/** The loop variable is a file name inside the workspace if every word of the loop is. */
function inLoop({ name, over }: LoopStep, context: CommandContext): CommandContext {
  const names = new Set(context.names)
  names.delete(name)
  if (Array.isArray(over) && over.every((word: Word) => wordInside(word, context))) names.add(name)
  return { ...context, names }
}

function usesOf(stages: readonly Stage[], context: CommandContext): readonly (ReadOnlyUse | undefined)[] {
  const uses: (ReadOnlyUse | undefined)[] = []
  for (const [index, stage] of stages.entries()) {
    const use = useOf(stage, context, index > 0)
    // File names from stdin must come from commands that are read-only too.
    uses.push(use?.stdinArgs !== undefined && !uses.every((before) => before !== undefined) ? undefined : use)
  }
  return uses
}

function useOf({ assignments, words }: Stage, context: CommandContext, piped: boolean): ReadOnlyUse | undefined {
  if (!assignments.every(([name, value]) => isHarmlessVariable(name, value))) return undefined
  const inner = innermost(words)
  const use = readOnlyUse(inner, context, piped)
  // These run without a sandbox, so they must be started directly and not through another program.
  const isDirect = assignments.length === 0 && inner.length === words.length
  return use?.outside === true && !isDirect ? undefined : use
}

/** The command substitutions in a word. */
export const innerSteps = ({ expansion }: Word): readonly (readonly Step[])[] =>
  (expansion?.parts ?? []).flatMap((part) => part.kind === 'output' ? [part.steps] : [])

/** What the commands of a plan read. */
export interface Reads {
  /** Every command is read-only. */
  readonly all: boolean
  /** A command reads something outside the workspace. */
  readonly outside: boolean
  /** No output is written to a file, and no input comes from outside the workspace. */
  readonly quiet: boolean
  /** Every command is a simple program without options. Others are misjudged more easily. */
  readonly bare: boolean
}

const both = (parts: readonly Reads[]): Reads => ({
  all: parts.every(({ all }) => all), outside: parts.some(({ outside }) => outside),
  quiet: parts.every(({ quiet }) => quiet), bare: parts.every(({ bare }) => bare),
})

export const readsOf = (steps: readonly ResolvedStep[], context: CommandContext, findings: Findings): Reads =>
  both(steps.map((step) => readsOfStep(step, context, findings)))

function readsOfStep(step: ResolvedStep, context: CommandContext, findings: Findings): Reads {
  switch (step.kind) {
    case 'cd':
      return { all: true, outside: false, quiet: true, bare: true }
    case 'group':
      return readsOf(step.steps, context, findings)
    case 'loop': {
      const here = { ...context, folder: step.folder }
      const quiet = !('file' in step.over) || insidePath(step.over.file, here) !== undefined
      return both([
        { all: true, outside: false, quiet, bare: true }, readsOf(step.steps, context, findings),
        wordsRead('file' in step.over ? [] : step.over, here, findings),
      ])
    }
    case 'run': {
      const here = { ...context, folder: step.folder }
      const own: Reads = {
        all: step.uses.every((use) => use !== undefined),
        outside: step.uses.some((use) => use?.outside === true),
        quiet: step.stages.every((stage) => streamsRead(stage, here)),
        bare: step.stages.every(isBare),
      }
      return both([own, wordsRead(step.stages.flatMap((stage) => stage.words), here, findings)])
    }
  }
}

const wordsRead = (words: readonly Word[], context: CommandContext, findings: Findings): Reads =>
  both(words.flatMap(innerSteps).map((steps) => readsOf(resolveSteps(steps, context, findings), context, findings)))

/** `git` and programs with a language of their own, such as `find` and `sed`, are in no list. */
const isBare = ({ words }: Stage): boolean =>
  READ_ONLY_PROGRAMS.has(innermost(words)[0]!.text) && words.every(({ text }) => !/^-./.test(text))

/** Whether the redirections write no file and read none outside the workspace. */
const streamsRead = ({ stdin, stdout, stderr }: Stage, context: CommandContext): boolean =>
  typeof stdout === 'string' && typeof stderr === 'string'
  && (stdin === undefined || !('file' in stdin) || insidePath(stdin.file, context) !== undefined)

/** Programs that read whole folder trees. */
const DEEP: ReadonlySet<string> = new Set(wordList('find rg du tree diff'))
const RECURSIVE = /^-[a-zA-Z]*[rR]|^--recursive$|recurse$/

/**
 * The files that a read-only plan reads, and those that its output is redirected to. Reports the whole workspace if the
 * files are not known. `outside`: the plan also reads outside the workspace.
 */
export function effectsOf(steps: readonly ResolvedStep[], context: CommandContext, outside: boolean): CallEffects {
  const reads = steps.flatMap((step) => filesOfStep(step, context)).flatMap((path) => path ?? everything(context))
  const targets = steps.flatMap((step) => step.kind === 'run' ? targetsOf(step) : [])
  const writes = targets.map(({ file, folder }) => affected(file, false, { ...context, folder }))
  return { ...(!outside && { reads }), ...(writes.every((path) => path !== undefined) && { writes }), net: false }
}

const everything = ({ workspace, openRoots = [] }: CommandContext): readonly AffectedPath[] =>
  [workspace, ...openRoots].map((path) => ({ path, below: true }))

function filesOfStep(step: ResolvedStep, context: CommandContext): readonly (AffectedPath | undefined)[] {
  switch (step.kind) {
    case 'cd':
      return []
    case 'group':
      return step.steps.flatMap((inner) => filesOfStep(inner, context))
    case 'loop':
      return [undefined]
    case 'run':
      return step.stages.flatMap((stage, index) => {
        const here = { ...context, folder: step.folder }
        const { stdin } = stage
        const input = stdin !== undefined && 'file' in stdin ? [affected(stdin.file, false, here)] : []
        return [...input, ...filesOfWords(innermost(stage.words), step.uses[index]!, here)]
      })
  }
}

function filesOfWords(
  words: readonly Word[], { paths, stdinArgs }: NonNullable<RunStep['uses'][number]>, context: CommandContext,
): readonly (AffectedPath | undefined)[] {
  const program = words[0]!.text
  const isKnown = stdinArgs === undefined && paths.every(isPlain) && words.every((word) => word.expansion === undefined)
  if (program === 'git' || !isKnown) return [undefined]
  const isRecursive = (program === 'ls' || program === 'grep') && words.some(({ text }) => RECURSIVE.test(text))
  const below = DEEP.has(program) || isRecursive
  const named = paths.map(({ text }) => text).filter((text) => text !== '-' && text !== '/dev/null')
  const isHere = named.length === 0 && (below || program === 'ls')
  return (isHere ? ['.'] : named).map((path) => affected(path, below, context))
}

const targetsOf = ({ stages, folder }: RunStep) => stages.flatMap(({ stdout, stderr }) =>
  [stdout, stderr].flatMap((target) => typeof target === 'string' ? [] : [{ file: target.file, folder }]))

/** Undefined for paths with `..`, because a symbolic link before it changes the target. */
function affected(path: string, below: boolean, context: CommandContext): AffectedPath | undefined {
  const inside = path.split('/').includes('..') ? undefined : insidePath(path, context)
  if (inside === undefined) return undefined
  return { path: absolute(context.workspace, inside), below }
}
