import type { AndOr, PipelineNode, Statement } from 'unbash'
import { readEach, readGroup } from './compound.ts'
import { NeedsShell } from './needs-shell.ts'
import type { Stage, Step, When } from './plan.ts'
import type { Scope } from './scope.ts'
import { readCommandWords, readStage } from './stage.ts'

/** Statements as steps that need no shell. Contract: throws NeedsShell for every other. */
export function readSteps({ commands }: { readonly commands: readonly Statement[] }, scope: Scope): readonly Step[] {
  const steps = commands.flatMap(({ command, background }) => {
    if (background === true) throw new NeedsShell('a command in the background')
    return command.type === 'AndOr' ? readAndOr(command, scope) : [readPipeline(command, 'always', scope)]
  })
  refuseUncertainFolder(steps)
  return steps
}

function readAndOr({ commands, operators }: AndOr, scope: Scope): readonly Step[] {
  return commands.map((command, index) =>
    readPipeline(command, index === 0 ? 'always' : operators[index - 1] === '&&' ? 'success' : 'failure', scope))
}

function readPipeline(node: PipelineNode, when: When, scope: Scope): Step {
  if (node.type !== 'Pipeline') {
    return readFolderChange(node, when, scope) ?? readCompound(node, when, scope)
      ?? { kind: 'run', when, negated: false, stages: [readStage(node, undefined, scope)] }
  }
  const times = node.prefixes.filter(({ type }) => type === 'Time')
  if (times.length > 0 && !isPlainTime(node, scope)) throw new NeedsShell('`time`, which is part of the shell')
  const stages = node.commands.map((command, index) => readStage(command, node.operators[index], scope))
  stages.slice(1).forEach((stage, index) => refuseLostOutput(stages[index]!, stage))
  const negated = (node.prefixes.length - times.length) % 2 === 1
  return { kind: 'run', when, negated, stages, ...(times.length > 0 ? { timed: true } : {}) }
}

const isPlainTime = ({ prefixes }: Extract<PipelineNode, { type: 'Pipeline' }>, { reading }: Scope): boolean =>
  reading && prefixes.length === 1 && prefixes.every((prefix) => prefix.type === 'Time' && !prefix.posix && !prefix.endOfOptions)

function readCompound(node: PipelineNode, when: When, scope: Scope): Step | undefined {
  if (!scope.reading) return undefined
  const read = (list: { readonly commands: readonly Statement[] }, inner: Scope): readonly Step[] => readSteps(list, inner)
  return node.type === 'Subshell' ? readGroup(node, when, scope, read) : readEach(node, when, scope, read)
}

/** What the one before writes must be what the next one reads: else their order in time would matter. */
function refuseLostOutput(before: Stage, after: Stage): void {
  if (after.stdin !== undefined) throw new NeedsShell('a command of a pipeline that reads something else')
  if (before.stdout !== 'out' && before.stderr !== 'out') throw new NeedsShell('a command of a pipeline that writes elsewhere')
}

function readFolderChange(node: PipelineNode, when: When, scope: Scope): Step | undefined {
  if (node.type !== 'Command' || node.name?.text !== 'cd') return undefined
  const [, folder, ...more] = readCommandWords(node, scope)
  const plain = folder !== undefined && folder.pattern === undefined && folder.made === undefined && more.length === 0
    && node.prefix.length === 0 && node.redirects.length === 0 && !folder.text.startsWith('-') && folder.text !== ''
  if (!plain) throw new NeedsShell('`cd` to a folder that is not simply named')
  return { kind: 'cd', when, path: folder.text }
}

/** A later step must not happen in one folder or another, depending on how things went. */
function refuseUncertainFolder(steps: readonly Step[]): void {
  steps.forEach((step, index) => {
    if (step.kind !== 'cd' || step.when === 'always') return
    const certain = step.when === 'success' && steps.slice(index + 1).every(({ when }) => when === 'success')
    if (!certain) throw new NeedsShell('`cd` that happens only sometimes')
  })
}
