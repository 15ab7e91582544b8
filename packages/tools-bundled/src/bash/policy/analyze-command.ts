import type { ArgumentsReader, ArgumentsReading } from '@bulkhead/contract'
import { absolute, insidePath, type Location, writeDenials } from '../../model/paths.ts'
import { MAX_CHARS, parseCommand } from '../parse/parse-command.ts'
import { isPlain, type ParsedCommand, type ShellCommand, type Stage, type Step, type Word } from '../parse/plan.ts'
import { programNeed } from '../run/stage-argv.ts'
import { effectsOf, innerSteps, readsOf, type ResolvedStep, resolveSteps, type RunStep } from './analyze-steps.ts'
import {
  commandNames, hasControls, inputText, pathText, possibleCommands, stageText, wordsText,
} from './command-names.ts'
import { Findings, isForkBomb, overwritesDevice } from './findings.ts'
import { type CommandContext, isUsuallyReadOnly } from './known-uses.ts'
import { innermost, unwrap } from './wrappers.ts'

export type AnalyzedCommand = { readonly analysis: ArgumentsReading } & (
  | { readonly kind: 'plan'; readonly steps: readonly ResolvedStep[] }
  | Exclude<ParsedCommand, { kind: 'plan' }>
)

/**
 * Determines what a command line does and which approval keys cover it:
 * - `git status`, `ls`: all read-only uses of a program inside the workspace
 * - `npm test`: exactly these words; `sh <|` if another command is piped into it
 * - `[effects] find . -delete`: exactly these words, for a program that is usually read-only
 * - `> notes.txt`: a file that is written
 * - `[shell] …`, `[unread] …`: exactly this string
 *
 * Never throws.
 */
export function analyzeCommand(text: string, context: CommandContext): AnalyzedCommand {
  const findings = new Findings()
  const parsed = parseCommand(text)
  if (text.length <= MAX_CHARS && isForkBomb(text)) findings.deny('it is a fork bomb')
  switch (parsed.kind) {
    case 'plan': {
      const { otherwise } = parsed
      const analyzed = analyzePlan(parsed.steps, context, otherwise === undefined ? [] : [text])
      if (otherwise === undefined || analyzed.reads) {
        return { kind: 'plan', steps: analyzed.steps, analysis: withDenies(analyzed.analysis, findings) }
      }
      return analyzeShell(text, otherwise, context, findings)
    }
    case 'shell':
      return analyzeShell(text, parsed, context, findings)
    case 'unread':
      findings.ask(`cannot determine what it would run: ${parsed.why}`, true)
      return { ...parsed, analysis: wholeCommand('unread', text, possibleCommands(text), context, findings) }
  }
}

/** `names` are additional names that deny rules match against. */
function analyzePlan(plan: readonly Step[], context: CommandContext, names: readonly string[]) {
  const findings = new Findings()
  const steps = resolveSteps(plan, context, findings)
  analyzeSteps(steps, context, findings)
  const key = planKey(steps, findings)
  // The command only changes the folder.
  if (steps.every(({ kind }) => kind === 'cd')) findings.subject(key, [])
  for (const { key: subject } of findings.reading(key).subjects) findings.subject(subject, names)
  const { all, outside, quiet, bare } = readsOf(steps, context, findings)
  const analysis = findings.reading(key)
  const reads = all && quiet && analysis.denies.length === 0 && analysis.asks.length === 0
  return {
    steps, reads,
    analysis: {
      ...analysis, ...(reads && !outside ? { onlyReads: bare || 'walled' as const } : {}),
      ...(all ? { effects: effectsOf(steps, context, outside) } : {}),
    },
  }
}

const withDenies = (analysis: ArgumentsReading, findings: Findings): ArgumentsReading => {
  const { denies } = findings.reading('')
  return denies.length === 0 ? analysis : { ...analysis, denies: [...analysis.denies, ...denies], onlyReads: false }
}

function analyzeShell(
  text: string, parsed: ShellCommand, context: CommandContext, findings: Findings,
): AnalyzedCommand {
  const names = parsed.commands.flatMap(({ words }) => commandNames(words, findings))
  findings.ask(`it needs a shell: ${parsed.why.join('; ')}`)
  return { ...parsed, analysis: wholeCommand('shell', text, names, context, findings) }
}

function wholeCommand(
  mark: string, text: string, names: readonly string[], { folder }: CommandContext, findings: Findings,
): ArgumentsReading {
  const [lines, quoted] = hasControls(text) ? [' lines', pathText(text)] : ['', text]
  const key = `[${mark}${lines}] ${inFolder(folder)}${quoted}`
  findings.subject(key, [text, ...names])
  findings.need({ kind: 'shell', subject: 'bash', args: ['--noprofile', '--norc', '-c', text] })
  findings.touch(`run in a shell: ${inFolder(folder)}${text}`)
  return findings.reading(key)
}

function analyzeSteps(steps: readonly ResolvedStep[], context: CommandContext, findings: Findings): void {
  for (const step of steps) {
    if (step.kind === 'run') analyzeStep(step, context, findings)
    else if (step.kind !== 'cd') analyzeSteps(step.steps, context, findings)
    const words = wordsOf(step)
    const folder = step.kind === 'group' ? context.folder : step.folder
    for (const inner of words.flatMap(innerSteps)) {
      analyzeSteps(resolveSteps(inner, { ...context, folder }, findings), context, findings)
    }
  }
}

function wordsOf(step: ResolvedStep): readonly Word[] {
  if (step.kind === 'run') return step.stages.flatMap((stage) => stage.words)
  return step.kind === 'loop' && !('file' in step.over) ? step.over : []
}

function analyzeStep({ stages, uses, folder }: RunStep, context: CommandContext, findings: Findings): void {
  const { workspace, openRoots: roots = [] } = context
  const opened = { ...context, roots }
  stages.forEach((stage, index) => {
    const names = commandNames(stage.words, findings)
    const use = uses[index]
    const piped = index > 0
    const key = use?.key
      ?? `${markOf(stage)}${inFolder(folder)}${inputText({ ...stage, words: innermost(stage.words) }, piped)}`
    // Deny rules can match the whole pipeline. Allow rules match only the keys.
    const pipe = piped ? [stages.slice(0, index + 1).map(stageText).join(' | ')] : []
    findings.subject(key, [...names, stageText(stage), ...pipe])
    for (const other of use?.alsoRuns ?? []) findings.subject(other, [])
    findings.touch(`run ${inFolder(folder)}${stageText(stage)}`)
    findings.need(programNeed(stage))
    const input = stage.stdin !== undefined && 'file' in stage.stdin ? stage.stdin.file : undefined
    const files = [
      ...(folder === '.' ? [] : ['.']),
      ...(input === undefined ? [] : [input]),
      ...knownPaths(use?.paths ?? []),
    ]
    for (const file of files) needRead(file, { ...context, folder }, findings)
    for (const [operator, target] of [['>', stage.stdout], ['2>', stage.stderr]] as const) {
      if (typeof target === 'string') continue
      if (overwritesDevice(target.file)) findings.deny('it would overwrite a disk')
      const path = insidePath(target.file, { ...context, folder })
      if (path === undefined) findings.deny(`the file ${pathText(target.file)} is outside the workspace`)
      else for (const why of writeDenials(absolute(workspace, path), target.file, opened)) findings.deny(why)
      findings.touch(`write ${pathText(path ?? target.file)}`)
      if (path !== undefined) findings.need({ kind: 'fs.write', subject: absolute(workspace, path) })
      findings.subject(
        `${target.append ? '>>' : '>'} ${pathText(path ?? target.file)}`, [`${operator} ${pathText(target.file)}`],
      )
    }
    if (input !== undefined && insidePath(input, { ...context, folder }) === undefined) {
      findings.deny(`the file ${pathText(input)} is outside the workspace`)
    }
  })
}

/** Literal paths, which the tool checks before it starts the command. */
const knownPaths = (words: readonly Word[]): readonly string[] =>
  words.filter((word) => isPlain(word) && word.text !== '-' && word.text !== '/dev/null').map(({ text }) => text)

function needRead(file: string, context: CommandContext, findings: Findings): void {
  const path = insidePath(file, context)
  if (path !== undefined) {
    findings.need({ kind: 'fs.read', subject: absolute(context.workspace, path) })
  }
}

function markOf({ words }: Stage): string {
  const inner = innermost(words)
  if ((unwrap(inner)?.scripts.length ?? 0) > 0) return '[shell] '
  return isUsuallyReadOnly(inner[0]?.text ?? '') ? '[effects] ' : ''
}

const inFolder = (folder: string): string => folder === '.' ? '' : `[in ${pathText(folder)}] `

/** The key of a single command, or the text of all steps with their order and conditions. */
function planKey(steps: readonly ResolvedStep[], findings: Findings): string {
  const { subjects } = findings.reading('')
  if (steps.length === 1 && subjects.length === 1) return subjects[0]!.key
  return stepsText(steps)
}

function stepsText(steps: readonly ResolvedStep[]): string {
  return steps.map((step, index) => {
    const before = index === 0 ? '' : step.when === 'always' ? '; ' : step.when === 'success' ? '&& ' : '|| '
    switch (step.kind) {
      case 'cd':
        return `${before}cd ${pathText(step.path)}`
      case 'group':
        return `${before}( ${stepsText(step.steps)} )`
      case 'loop': {
        const over = 'file' in step.over
          ? `while read ${step.name} < ${pathText(step.over.file)}`
          : `for ${step.name} in ${wordsText(step.over)}`
        return `${before}${over}; do ${stepsText(step.steps)}; done`
      }
      case 'run': {
        const where = index === 0 ? inFolder(step.folder) : ''
        return `${before}${step.negated ? '! ' : ''}${where}${step.stages.map(stageText).join(' | ')}`
      }
    }
  }).join(' ')
}

/** Tells the host what a call of `bash` would do. */
export const readBashArguments: ArgumentsReader = (args, { workspace, roots = [], neverWritten }) => {
  const { command, cwd } = args
  const folder = typeof cwd === 'string' ? insidePath(cwd, { workspace, folder: '.', roots }) : '.'
  const { analysis } = analyzeCommand(
    typeof command === 'string' ? command : '',
    { ...locationOf(workspace, folder ?? '.'), openRoots: roots, ...(neverWritten && { neverWritten }) },
  )
  if (folder !== undefined) return analysis
  return { ...analysis, denies: [...analysis.denies, `the folder ${String(cwd)} is outside the workspace`] }
}

/**
 * In another root, only files below the working folder count as inside: the tool knows no more of the root when it
 * analyses the command again.
 */
export const locationOf = (workspace: string, folder: string): Location =>
  ({ workspace, folder, ...(folder.startsWith('/') && { roots: [folder] }) })
