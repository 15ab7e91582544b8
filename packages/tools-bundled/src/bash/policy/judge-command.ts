import type { ArgumentsReader, ArgumentsReading } from '@bulkhead/contract'
import { insidePath, whyNotWritten } from '../../model/path-keys.ts'
import type { CommandReading, ShellReading, Stage, Step, Word } from '../parse/plan.ts'
import { MAX_CHARS, readCommand } from '../parse/read-command.ts'
import { programNeed } from '../run/stage-argv.ts'
import { hasControls, inputText, namesOf, pathText, stageText, startsIn, wordsText } from './command-names.ts'
import { effectsOf, innerSteps, placeSteps, readsOf, type JudgedStep, type RunStep } from './judged-steps.ts'
import { Findings, isForkBomb, overwritesDevice } from './findings.ts'
import { type Ground, isMostlyRead } from './known-uses.ts'
import { innermost, unwrap } from './wrappers.ts'

export type JudgedCommand = { readonly judgement: ArgumentsReading } & (
  | { readonly kind: 'plan'; readonly steps: readonly JudgedStep[] }
  | Exclude<CommandReading, { kind: 'plan' }>
)

/**
 * What a text of commands means and what an approval of it stands for. Keys:
 * - `git status`, `ls`: a program in the ways that are known to read only, inside the workspace;
 * - `npm test`: exactly these words; `sh <|` where another command is piped into it;
 * - `[effects] find . -delete`: exactly these words of a program that could only read, but not so;
 * - `> notes.txt`: a file that is written;
 * - `[shell] …`, `[unread] …`: exactly this text.
 * Contract: never throws.
 */
export function judgeCommand(text: string, ground: Ground): JudgedCommand {
  const findings = new Findings()
  const reading = readCommand(text)
  if (text.length <= MAX_CHARS && isForkBomb(text)) findings.deny('it would start itself over and over')
  switch (reading.kind) {
    case 'plan': {
      const { otherwise } = reading
      const judged = judgePlan(reading.steps, ground, otherwise === undefined ? [] : [text])
      if (otherwise === undefined || judged.reads) return { kind: 'plan', steps: judged.steps, judgement: withDenies(judged.judgement, findings) }
      return judgeShell(text, otherwise, ground, findings)
    }
    case 'shell':
      return judgeShell(text, reading, ground, findings)
    case 'unread':
      findings.ask(`what it would run cannot be told: ${reading.why}`, true)
      return { ...reading, judgement: whole('unread', text, startsIn(text), ground, findings) }
  }
}

/** `names`: by which a rule may forbid all of it. */
function judgePlan(plan: readonly Step[], ground: Ground, names: readonly string[]) {
  const findings = new Findings()
  const steps = placeSteps(plan, ground, findings)
  judgeSteps(steps, ground, findings)
  const key = planKey(steps, findings)
  // To change the folder is all it does.
  if (steps.every(({ kind }) => kind === 'cd')) findings.subject(key, [])
  for (const { key: subject } of findings.reading(key).subjects) findings.subject(subject, names)
  const { all, beyond, quiet } = readsOf(steps, ground, findings)
  const judgement = findings.reading(key)
  const reads = all && quiet && judgement.denies.length === 0 && judgement.asks.length === 0
  return {
    steps, reads,
    judgement: {
      ...judgement, ...(reads && !beyond ? { onlyReads: true } : {}), ...(all ? { effects: effectsOf(steps, ground, beyond) } : {}),
    },
  }
}

const withDenies = (judgement: ArgumentsReading, findings: Findings): ArgumentsReading => {
  const { denies } = findings.reading('')
  return denies.length === 0 ? judgement : { ...judgement, denies: [...judgement.denies, ...denies], onlyReads: false }
}

function judgeShell(text: string, reading: ShellReading, ground: Ground, findings: Findings): JudgedCommand {
  const names = reading.commands.flatMap(({ words }) => namesOf(words, findings))
  findings.ask(`it needs a shell: ${reading.why.join('; ')}`)
  return { ...reading, judgement: whole('shell', text, names, ground, findings) }
}

function whole(mark: string, text: string, names: readonly string[], { folder }: Ground, findings: Findings): ArgumentsReading {
  const key = `[${mark}${hasControls(text) ? ' lines' : ''}] ${inFolder(folder)}${hasControls(text) ? pathText(text) : text}`
  findings.subject(key, [text, ...names])
  findings.need({ kind: 'shell', subject: 'bash', args: ['--noprofile', '--norc', '-c', text] })
  findings.touch(`run in a shell: ${inFolder(folder)}${text}`)
  return findings.reading(key)
}

function judgeSteps(steps: readonly JudgedStep[], ground: Ground, findings: Findings): void {
  for (const step of steps) {
    if (step.kind === 'run') judgeStep(step, ground, findings)
    else if (step.kind !== 'cd') judgeSteps(step.steps, ground, findings)
    const words = step.kind === 'run' ? step.stages.flatMap((stage) => stage.words) : step.kind === 'each' && Array.isArray(step.over) ? step.over : []
    const folder = step.kind === 'group' ? ground.folder : step.folder
    for (const inner of words.flatMap(innerSteps)) judgeSteps(placeSteps(inner, { ...ground, folder }, findings), ground, findings)
  }
}

function judgeStep({ stages, uses, folder }: RunStep, ground: Ground, findings: Findings): void {
  stages.forEach((stage, index) => {
    const names = namesOf(stage.words, findings)
    const use = uses[index]
    const piped = index > 0
    const key = use?.key ?? `${markOf(stage)}${inFolder(folder)}${inputText({ ...stage, words: innermost(stage.words) }, piped)}`
    // A rule may forbid the pipe as a whole. Nothing is allowed by these names.
    const pipe = piped ? [stages.slice(0, index + 1).map(stageText).join(' | ')] : []
    findings.subject(key, [...names, stageText(stage), ...pipe])
    for (const other of use?.also ?? []) findings.subject(other, [])
    findings.touch(`run ${inFolder(folder)}${stageText(stage)}`)
    findings.need(programNeed(stage))
    const files = [
      ...(folder === '.' ? [] : ['.']), ...(stage.stdin !== undefined && 'file' in stage.stdin ? [stage.stdin.file] : []),
      ...knownPaths(use?.paths ?? []),
    ]
    for (const file of files) needRead(file, { ...ground, folder }, findings)
    for (const [operator, target] of [['>', stage.stdout], ['2>', stage.stderr]] as const) {
      if (typeof target === 'string') continue
      if (overwritesDevice(target.file)) findings.deny('it would overwrite a disk')
      const path = insidePath(target.file, { ...ground, folder })
      if (path === undefined) findings.deny(`the file ${pathText(target.file)} lies outside the workspace`)
      else for (const why of whyNotWritten(`${ground.workspace}/${path}`, target.file, ground)) findings.deny(why)
      findings.touch(`write ${pathText(path ?? target.file)}`)
      if (path !== undefined) findings.need({ kind: 'fs.write', subject: `${ground.workspace}/${path}` })
      findings.subject(`${target.append ? '>>' : '>'} ${pathText(path ?? target.file)}`, [`${operator} ${pathText(target.file)}`])
    }
    if (stage.stdin !== undefined && 'file' in stage.stdin && insidePath(stage.stdin.file, { ...ground, folder }) === undefined) {
      findings.deny(`the file ${pathText(stage.stdin.file)} lies outside the workspace`)
    }
  })
}

/** The tool looks at each of these before it lets a command read them. */
const knownPaths = (words: readonly Word[]): readonly string[] =>
  words.filter(({ pattern, made, text }) => pattern === undefined && made === undefined && text !== '-' && text !== '/dev/null').map(({ text }) => text)

function needRead(file: string, ground: Ground, findings: Findings): void {
  const path = insidePath(file, ground)
  if (path !== undefined) findings.need({ kind: 'fs.read', subject: path === '.' ? ground.workspace : `${ground.workspace}/${path}` })
}

function markOf({ words }: Stage): string {
  const inner = innermost(words)
  if ((unwrap(inner)?.scripts.length ?? 0) > 0) return '[shell] '
  return isMostlyRead(inner[0]?.text ?? '') ? '[effects] ' : ''
}

const inFolder = (folder: string): string => folder === '.' ? '' : `[in ${pathText(folder)}] `

/** One command is what its key says; several are all of them, in their order and on their conditions. */
function planKey(steps: readonly JudgedStep[], findings: Findings): string {
  const { subjects } = findings.reading('')
  if (steps.length === 1 && subjects.length === 1) return subjects[0]!.key
  return stepsText(steps)
}

function stepsText(steps: readonly JudgedStep[]): string {
  return steps.map((step, index) => {
    const before = index === 0 ? '' : step.when === 'always' ? '; ' : step.when === 'success' ? '&& ' : '|| '
    switch (step.kind) {
      case 'cd':
        return `${before}cd ${pathText(step.path)}`
      case 'group':
        return `${before}( ${stepsText(step.steps)} )`
      case 'each': {
        const over = 'file' in step.over ? `while read ${step.name} < ${pathText(step.over.file)}` : `for ${step.name} in ${wordsText(step.over)}`
        return `${before}${over}; do ${stepsText(step.steps)}; done`
      }
      case 'run': {
        const where = index === 0 ? inFolder(step.folder) : ''
        return `${before}${step.negated ? '! ' : ''}${where}${step.stages.map(stageText).join(' | ')}`
      }
    }
  }).join(' ')
}

/** For the host: what a call of `bash` stands for. */
export const readBashArguments: ArgumentsReader = (args, { workspace, neverWritten }) => {
  const { command, cwd } = args
  const folder = typeof cwd === 'string' ? insidePath(cwd, { workspace, folder: '.' }) : '.'
  const { judgement } = judgeCommand(typeof command === 'string' ? command : '', { workspace, folder: folder ?? '.', ...(neverWritten && { neverWritten }) })
  if (folder !== undefined) return judgement
  return { ...judgement, denies: [...judgement.denies, `the folder ${String(cwd)} lies outside the workspace`] }
}
