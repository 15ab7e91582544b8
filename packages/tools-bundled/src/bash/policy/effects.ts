import type { AffectedPath, CallEffects } from '@bulkhead/contract'
import { isPlain, type Word, wordList } from '../parse/plan.ts'
import { insidePath, type Ground } from './ground.ts'
import type { JudgedStep, RunStep } from './judged-steps.ts'
import { innermost } from './judge-words.ts'

/** Programs that look at everything below what they are given, or below the folder they are started in. */
const DEEP: ReadonlySet<string> = new Set(wordList('find rg du tree diff'))
const RECURSIVE = /^-[a-zA-Z]*[rR]|^--recursive$|recurse$/

/**
 * What the files are that a plan of commands which only read touches, by its words; also those that output is redirected to. More is
 * said rather than less: all of the workspace where that is not known. `beyond`: they read elsewhere too.
 */
export function effectsOf(steps: readonly JudgedStep[], ground: Ground, beyond: boolean): CallEffects {
  const reads = steps.flatMap((step) => readsOfStep(step, ground)).map((path) => path ?? everything(ground))
  const targets = steps.flatMap((step) => step.kind === 'run' ? targetsOf(step) : [])
  const writes = targets.map(({ file, folder }) => affected(file, false, { ...ground, folder }))
  return { ...(!beyond && { reads }), ...(writes.every((path) => path !== undefined) && { writes }), net: false }
}

const everything = ({ workspace }: Ground): AffectedPath => ({ path: workspace, below: true })

function readsOfStep(step: JudgedStep, ground: Ground): readonly (AffectedPath | undefined)[] {
  switch (step.kind) {
    case 'cd':
      return []
    case 'group':
      return step.steps.flatMap((inner) => readsOfStep(inner, ground))
    case 'each':
      return [undefined]
    case 'run':
      return step.stages.flatMap((stage, index) => {
        const here = { ...ground, folder: step.folder }
        const { stdin } = stage
        const input = stdin !== undefined && 'file' in stdin ? [affected(stdin.file, false, here)] : []
        return [...input, ...readsOfWords(innermost(stage.words), step.uses[index]!, here)]
      })
  }
}

function readsOfWords(words: readonly Word[], { paths, fed }: NonNullable<RunStep['uses'][number]>, ground: Ground): readonly (AffectedPath | undefined)[] {
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
