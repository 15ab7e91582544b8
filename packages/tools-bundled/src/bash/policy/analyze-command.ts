import type {
  AffectedPath, ArgumentsReader, ArgumentsReading, CallEffects, CommandReading, CommandAs,
} from '@bulkhead/contract'
import { absolute, insidePath, type Location, writeDenials } from '../../model/paths.ts'
import { MAX_CHARS, parseCommand } from '../parse/parse-command.ts'
import {
  isPlain, type LineParts, type NestedCommand, type ParsedCommand, type ShellCommand, type Stage, type Step, type Word,
} from '../parse/plan.ts'
import { inFolder, isReport, markOf, simpleKey, stepsText } from './command-keys.ts'
import { commandNames, hasControls, inputText, pathText, possibleCommands, stageText } from './command-names.ts'
import { Findings, isForkBomb, overwritesDevice } from './findings.ts'
import { hostsOf } from './hosts.ts'
import { programNeed } from './program-argv.ts'
import {
  affected, type CommandContext, everything, filesOf, isBare, readingKeys, streamsRead,
} from './reading-commands.ts'
import { type ResolvedStep, resolveSteps, type RunStep } from './resolve-steps.ts'
import { innermost } from './wrappers.ts'

export type AnalyzedCommand = { readonly analysis: ArgumentsReading & { readonly command: CommandReading } } & (
  | { readonly kind: 'plan'; readonly steps: readonly ResolvedStep[]; readonly parts: LineParts }
  | Exclude<ParsedCommand, { kind: 'plan' }>
)

/**
 * Determines what a command line does and which approval keys cover it:
 * - `npm test`: exactly these words; `sh <|` if another command is piped into it
 * - `[effects] find . -delete`: exactly these words, for a program that is usually read-only
 * - `> notes.txt`: a file that is written
 * - `[shell] …`, `[unread] …`: exactly this string
 * - `git status`, `ls`: all uses of a program that seem to only read, behind the look wall. Without it, those without
 *   options
 *
 * Never throws.
 */
export function analyzeCommand(text: string, context: CommandContext): AnalyzedCommand {
  const findings = new Findings()
  const parsed = parseCommand(text)
  const line = `${context.folder}\n${text}`
  if (text.length <= MAX_CHARS && isForkBomb(text)) findings.deny('it is a fork bomb')
  switch (parsed.kind) {
    case 'plan': {
      const { steps, analysis } = analyzePlan(parsed.steps, parsed.parts, context, findings)
      const { parts } = parsed
      return { kind: 'plan', steps, parts, analysis: { ...analysis, command: { line, ...analysis.command } } }
    }
    case 'shell': {
      const analysis = analyzeShell(text, parsed, context, findings)
      return { ...parsed, analysis: { ...analysis, command: { line, ...analysis.command } } }
    }
    case 'unread': {
      findings.ask(`cannot determine what it would run: ${parsed.why}`, true)
      const analysis = wholeCommand('unread', text, possibleCommands(text), context, findings)
      return { ...parsed, analysis: { ...analysis, command: { line } } }
    }
  }
}

type Analysis = Omit<ArgumentsReading, 'command'> & { readonly command: Omit<CommandReading, 'line'> }

function analyzePlan(
  plan: readonly Step[], parts: LineParts, context: CommandContext, findings: Findings,
): { readonly steps: readonly ResolvedStep[]; readonly analysis: Analysis } {
  const steps = resolveSteps(plan, context, findings)
  const runs = steps.filter((step) => step.kind === 'run')
  for (const step of runs) analyzeStep(step, context, findings)
  const subjects = findings.reading('').subjects
  // A single command has its own key. Several have that of the whole line, with their order and conditions.
  const isSingle = steps.length === 1 && subjects.length === 1
  const key = isSingle ? subjects[0]!.key : stepsText(steps)
  // The command only changes the folder.
  if (runs.length === 0) findings.subject(key, [])
  const placed = runs.flatMap(({ stages, folder }) => stages.map((stage) => ({ stage, here: { ...context, folder } })))
  const keys = placed.map(({ stage, here }) => readingKeys(stage.words, here))
  const known = keys.every((found) => found !== undefined)
  const analysis = findings.reading(key)
  const isQuiet = analysis.denies.length === 0 && analysis.asks.length === 0
  const reads = known && isQuiet && streamsRead(parts, context)
  const hosts = reads ? undefined : hostsOf(parts.commands, context)
  const isSimple = ({ stage: { words, assignments } }: Placed): boolean => isBare(words) && assignments.length === 0
  const bare = known && placed.every(isSimple)
  // Behind the look wall the files are a guess that does no harm. Otherwise they are known of simple commands only.
  const hasEffects = reads || bare || placed.every(({ stage }) => isReport(stage))
  const look = new Findings()
  placed.forEach(({ stage }, index) => {
    for (const one of keys[index] ?? []) look.subject(one, namesOf(stage, subjects))
  })
  if (runs.length === 0) look.subject(key, [])
  const behind = look.reading('').subjects
  const lookKey = steps.length === 1 && behind.length === 1 ? behind[0]!.key : key
  return {
    steps,
    analysis: {
      ...analysis, ...(reads ? { onlyReads: bare || 'walled' } : {}),
      ...(hasEffects ? { effects: effectsOf(placed, runs, parts, context, known) } : {}),
      command: { ...(reads && { look: { key: lookKey, subjects: behind } }), ...(hosts && { hosts }) },
    },
  }
}

/** What rules know a stage by, whatever wall it runs behind. */
const namesOf = (stage: Stage, subjects: ArgumentsReading['subjects']): readonly string[] => subjects
  .filter(({ names = [] }) => names.includes(stageText(stage))).flatMap(({ key, names = [] }) => [key, ...names])

interface Placed {
  readonly stage: Stage
  readonly here: CommandContext
}

function effectsOf(
  placed: readonly Placed[], runs: readonly RunStep[], { inputs }: LineParts, context: CommandContext, known: boolean,
): CallEffects {
  const files = [
    ...placed.flatMap(({ stage, here }) => filesOf(stage.words, here)),
    ...inputs.filter((file) => !file.startsWith('/dev/')).map((file) => affected(file, false, context)),
  ]
  const writes = runs.flatMap(({ stages, folder }) => stages.flatMap(({ stdout, stderr }) => [stdout, stderr]
    .flatMap((target) => typeof target === 'string' ? [] : [affected(target.file, false, { ...context, folder })])))
  return {
    ...(known && { reads: files.flatMap((path) => path ?? everything(context)) }),
    ...(writes.every((path) => path !== undefined) && { writes }), net: false,
  }
}

function analyzeShell(
  text: string, { why, parts }: ShellCommand, context: CommandContext, findings: Findings,
): Analysis {
  const { commands } = parts
  const names = commands.flatMap(({ words }) => commandNames(words, findings))
  const found = findings.reading('')
  const keys = commands.map(({ words }) => readingKeys(words, context))
  const reads = found.asks.length === 0 && found.denies.length === 0
    && keys.every((one) => one !== undefined) && streamsRead(parts, context)
  findings.ask(`it needs a shell: ${why.join('; ')}`)
  const analysis = wholeCommand('shell', text, names, context, findings)
  if (!reads) {
    const hosts = hostsOf(commands, context)
    return { ...analysis, command: { ...(hosts && { hosts }) } }
  }
  const look = new Findings()
  const all = [analysis.key, text, ...names]
  for (const one of keys.flat()) look.subject(one, all)
  if (commands.length === 0) look.subject(analysis.key, all)
  return {
    ...analysis, onlyReads: 'walled',
    effects: { reads: [...everything(context), ...namedFiles(commands, parts, context)], writes: [], net: false },
    command: { look: { key: analysis.key, subjects: look.reading('').subjects } },
  }
}

/** Files that the words of a line name. Others are possible. */
const namedFiles = (
  commands: readonly NestedCommand[], { inputs }: LineParts, context: CommandContext,
): readonly AffectedPath[] => [
  ...commands.flatMap(({ words }) => filesOf(words, context)), ...inputs.map((file) => affected(file, false, context)),
].filter((path) => path !== undefined)

function wholeCommand(
  mark: string, text: string, names: readonly string[], { folder }: CommandContext, findings: Findings,
): ArgumentsReading {
  const [lines, quoted] = hasControls(text) ? [' lines', pathText(text)] : ['', text]
  const key = `[${mark}${lines}] ${inFolder(folder)}${quoted}`
  findings.subject(key, [text, ...names])
  findings.need({ kind: 'shell', subject: 'bash', args: shellArguments(text) })
  findings.touch(`run in a shell: ${inFolder(folder)}${text}`)
  return findings.reading(key)
}

export const shellArguments = (text: string): readonly string[] => ['--noprofile', '--norc', '-c', text]

function analyzeStep({ stages, folder }: RunStep, context: CommandContext, findings: Findings): void {
  const { workspace, openRoots: roots = [] } = context
  const opened = { workspace, roots, neverWritten: context.neverWritten ?? [] }
  const here = { ...context, folder }
  stages.forEach((stage, index) => {
    const names = commandNames(stage.words, findings)
    const piped = index > 0
    const key = simpleKey(stage, here)
      ?? `${markOf(stage)}${inFolder(folder)}${inputText({ ...stage, words: innermost(stage.words) }, piped)}`
    // Deny rules can match the whole pipeline. Allow rules match only the keys.
    const pipe = piped ? [stages.slice(0, index + 1).map(stageText).join(' | ')] : []
    findings.subject(key, [...names, stageText(stage), ...pipe])
    findings.touch(`run ${inFolder(folder)}${stageText(stage)}`)
    findings.need(programNeed(stage))
    const input = stage.stdin !== undefined && 'file' in stage.stdin ? stage.stdin.file : undefined
    for (const file of [...(folder === '.' ? [] : ['.']), ...(input === undefined ? [] : [input])]) {
      needRead(affected(file, false, here), findings)
    }
    if (readingKeys(stage.words, here) !== undefined) needFiles(stage.words, here, findings)
    for (const [operator, target] of [['>', stage.stdout], ['2>', stage.stderr]] as const) {
      if (typeof target === 'string') continue
      if (overwritesDevice(target.file)) findings.deny('it would overwrite a disk')
      const path = insidePath(target.file, here)
      if (path === undefined) findings.deny(`the file ${pathText(target.file)} is outside the workspace`)
      else for (const why of writeDenials(absolute(workspace, path), target.file, opened)) findings.deny(why)
      findings.touch(`write ${pathText(path ?? target.file)}`)
      if (path !== undefined) findings.need({ kind: 'fs.write', subject: absolute(workspace, path) })
      findings.subject(
        `${target.append ? '>>' : '>'} ${pathText(path ?? target.file)}`, [`${operator} ${pathText(target.file)}`],
      )
    }
    if (input !== undefined && insidePath(input, here) === undefined) {
      findings.deny(`the file ${pathText(input)} is outside the workspace`)
    }
  })
}

/** Files that a reading command names. If only the shell knows them, they can be anywhere in the workspace. */
function needFiles(words: readonly Word[], context: CommandContext, findings: Findings): void {
  if (innermost(words)[0]?.text === 'git') return
  if (words.every(isPlain)) for (const file of filesOf(words, context)) needRead(file, findings)
  else needRead({ path: context.workspace, below: false }, findings)
}

function needRead(file: AffectedPath | undefined, findings: Findings): void {
  if (file !== undefined) findings.need({ kind: 'fs.read', subject: file.path, ...(file.below && { below: true }) })
}

/** The commands that ceilings check for a line that a shell runs. */
export function requestedCommands(text: string, analyzed: AnalyzedCommand): readonly CommandAs[] {
  const steps = analyzed.kind === 'plan' ? analyzed.steps : []
  const stages = steps.flatMap((step) => step.kind === 'run' ? step.stages : [])
  const commands = stages.map((stage) => programNeed(stage)).map(({ subject, args = [] }) => ({ cmd: subject, args }))
  return commands.length > 0 ? commands : [{ cmd: 'bash', args: shellArguments(text) }]
}

/** Tells the host what a call of `bash` would do. */
export const readBashArguments: ArgumentsReader = (args, { workspace, roots = [], neverWritten, readStart }) => {
  const { command, cwd } = args
  const folder = typeof cwd === 'string' ? insidePath(cwd, { workspace, folder: '.', roots }) : '.'
  const { analysis } = analyzeCommand(
    typeof command === 'string' ? command : '',
    { ...locationOf(workspace, folder ?? '.'), openRoots: roots, readStart, ...(neverWritten && { neverWritten }) },
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
