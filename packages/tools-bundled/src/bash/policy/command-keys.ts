import { isPlain, type Stage } from '../parse/plan.ts'
import { pathText, stageText } from './command-names.ts'
import { type CommandContext, isBare, readingKeys } from './reading-commands.ts'
import { isUsuallyReadOnly, PROCESS_PROGRAMS, readingKey } from './reading-programs.ts'
import type { ResolvedStep } from './resolve-steps.ts'
import { innermost, unwrap } from './wrappers.ts'

/** The name of the program, for uses without options that only read. */
export function simpleKey({ words, assignments }: Stage, context: CommandContext): string | undefined {
  const inner = innermost(words)
  const [name = '', ...args] = inner.map(({ text }) => text)
  if (assignments.length > 0 || !words.every(isPlain)) return undefined
  if (isReport({ words, assignments })) return name
  // Another folder can be another repository.
  const isPlainGit = name === 'git' && context.folder === '.' && args.every((arg) => !arg.startsWith('-'))
  const isSimple = isBare(words) || isPlainGit
  return isSimple && readingKeys(words, context) !== undefined ? readingKey(name, args) : undefined
}

/** Whether it only reports on other processes. */
export function isReport({ words: [program, ...args], assignments }: Pick<Stage, 'words' | 'assignments'>): boolean {
  const form = PROCESS_PROGRAMS.get(program?.text ?? '')
  return form !== undefined && assignments.length === 0 && args.every((word) => isPlain(word) && form.test(word.text))
}

export function markOf({ words }: Stage): string {
  const inner = innermost(words)
  if ((unwrap(inner)?.scripts.length ?? 0) > 0) return '[shell] '
  return isUsuallyReadOnly(inner[0]?.text ?? '') ? '[effects] ' : ''
}

export const inFolder = (folder: string): string => folder === '.' ? '' : `[in ${pathText(folder)}] `

/** The text of all steps with their order and conditions. */
export function stepsText(steps: readonly ResolvedStep[]): string {
  return steps.map((step, index) => {
    const before = index === 0 ? '' : step.when === 'always' ? '; ' : step.when === 'success' ? '&& ' : '|| '
    if (step.kind === 'cd') return `${before}cd ${pathText(step.path)}`
    const where = index === 0 ? inFolder(step.folder) : ''
    return `${before}${step.negated ? '! ' : ''}${where}${step.stages.map(stageText).join(' | ')}`
  }).join(' ')
}
