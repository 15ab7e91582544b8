import type { ArgumentsReading } from '@bulkhead/contract'
import type { CommandReading, Stage, Step } from '../reading/plan.ts'
import { MAX_CHARS, readCommand } from '../reading/read-command.ts'
import { isForkBomb, overwritesDevice } from './catastrophes.ts'
import { hasControls, inputText, pathText, stageText } from './command-text.ts'
import { Findings } from './findings.ts'
import { insidePath, type Ground } from './ground.ts'
import { innermost, namesOf, startsIn } from './judge-words.ts'
import { isKnownProgram, readingUse, type ReadingUse } from './known-uses.ts'
import { isHarmlessVariable } from './variables.ts'
import { unwrap } from './wrappers.ts'
import { whyNotWritten } from '../../not-written.ts'

/** A step as it is judged and run. */
export type JudgedStep =
  | (Extract<Step, { kind: 'run' }> & {
    readonly folder: string
    /** For each stage, how it only reads; undefined for one that may do more. */
    readonly uses: readonly (ReadingUse | undefined)[]
  })
  | (Extract<Step, { kind: 'cd' }> & { readonly folder: string })

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
      const steps = placeSteps(reading.steps, ground, findings)
      for (const step of steps) if (step.kind === 'run') judgeStep(step, ground, findings)
      const key = planKey(steps, findings)
      // To change the folder is all it does.
      if (steps.every(({ kind }) => kind === 'cd')) findings.subject(key, [])
      return { kind: 'plan', steps, judgement: findings.reading(key) }
    }
    case 'shell': {
      const names = reading.commands.flatMap(({ words }) => namesOf(words, findings))
      findings.ask(`it needs a shell: ${reading.why.join('; ')}`)
      return { ...reading, judgement: whole('shell', text, names, ground, findings) }
    }
    case 'unread':
      findings.ask(`what it would run cannot be told: ${reading.why}`, true)
      return { ...reading, judgement: whole('unread', text, startsIn(text), ground, findings) }
  }
}

function whole(mark: string, text: string, names: readonly string[], { folder }: Ground, findings: Findings): ArgumentsReading {
  const key = `[${mark}${hasControls(text) ? ' lines' : ''}] ${inFolder(folder)}${hasControls(text) ? pathText(text) : text}`
  findings.subject(key, [text, ...names])
  findings.touch(`run in a shell: ${inFolder(folder)}${text}`)
  return findings.reading(key)
}

/** Follows every `cd` by its name alone. */
function placeSteps(steps: readonly Step[], ground: Ground, findings: Findings): readonly JudgedStep[] {
  let { folder } = ground
  return steps.map((step): JudgedStep => {
    if (step.kind === 'run') return { ...step, folder, uses: step.stages.map((stage) => useOf(stage, { ...ground, folder })) }
    const next = insidePath(step.path, { ...ground, folder })
    if (next === undefined) findings.deny(`the folder ${pathText(step.path)} lies outside the workspace`)
    folder = next ?? folder
    return { ...step, folder }
  })
}

function useOf({ assignments, words }: Stage, ground: Ground): ReadingUse | undefined {
  if (!assignments.every(([name, value]) => isHarmlessVariable(name, value))) return undefined
  return readingUse(innermost(words), ground)
}

function judgeStep({ stages, uses, folder }: Extract<JudgedStep, { kind: 'run' }>, ground: Ground, findings: Findings): void {
  stages.forEach((stage, index) => {
    const names = namesOf(stage.words, findings)
    const use = uses[index]
    const piped = index > 0
    const key = use?.key ?? `${markOf(stage)}${inFolder(folder)}${inputText({ ...stage, words: innermost(stage.words) }, piped)}`
    // A rule may forbid the pipe as a whole. Nothing is allowed by these names.
    const pipe = piped ? [stages.slice(0, index + 1).map(stageText).join(' | ')] : []
    findings.subject(key, [...names, stageText(stage), ...pipe])
    findings.touch(`run ${inFolder(folder)}${stageText(stage)}`)
    for (const [operator, target] of [['>', stage.stdout], ['2>', stage.stderr]] as const) {
      if (typeof target === 'string') continue
      if (overwritesDevice(target.file)) findings.deny('it would overwrite a disk')
      const path = insidePath(target.file, { ...ground, folder })
      if (path === undefined) findings.deny(`the file ${pathText(target.file)} lies outside the workspace`)
      else for (const why of whyNotWritten(`${ground.workspace}/${path}`, target.file, ground)) findings.deny(why)
      findings.touch(`write ${pathText(path ?? target.file)}`)
      findings.subject(`${target.append ? '>>' : '>'} ${pathText(path ?? target.file)}`, [`${operator} ${pathText(target.file)}`])
    }
    if (stage.stdin !== undefined && 'file' in stage.stdin && insidePath(stage.stdin.file, { ...ground, folder }) === undefined) {
      findings.deny(`the file ${pathText(stage.stdin.file)} lies outside the workspace`)
    }
  })
}

function markOf({ words }: Stage): string {
  const inner = innermost(words)
  if ((unwrap(inner)?.scripts.length ?? 0) > 0) return '[shell] '
  return isKnownProgram(inner[0]?.text ?? '') ? '[effects] ' : ''
}

const inFolder = (folder: string): string => folder === '.' ? '' : `[in ${pathText(folder)}] `

/** One command is what its key says; several are all of them, in their order and on their conditions. */
function planKey(steps: readonly JudgedStep[], findings: Findings): string {
  const { subjects } = findings.reading('')
  if (steps.length === 1 && subjects.length === 1) return subjects[0]!.key
  return steps.map((step, index) => {
    const before = index === 0 ? '' : step.when === 'always' ? '; ' : step.when === 'success' ? '&& ' : '|| '
    if (step.kind === 'cd') return `${before}cd ${pathText(step.path)}`
    const where = index === 0 ? inFolder(step.folder) : ''
    return `${before}${step.negated ? '! ' : ''}${where}${step.stages.map(stageText).join(' | ')}`
  }).join(' ')
}
