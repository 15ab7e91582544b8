import type { AndOr, PipelineNode, Script } from 'unbash'
import { NeedsShell } from './needs-shell.ts'
import type { Stage, Step, When } from './plan.ts'
import { readCommandWords, readStage } from './stage.ts'

/** A script as steps that need no shell. Contract: throws NeedsShell for every other. */
export function readSteps(script: Script): readonly Step[] {
  const steps = script.commands.flatMap(({ command, background }) => {
    if (background === true) throw new NeedsShell('a command in the background')
    return command.type === 'AndOr' ? readAndOr(command) : [readPipeline(command, 'always')]
  })
  refuseUncertainFolder(steps)
  return steps
}

function readAndOr({ commands, operators }: AndOr): readonly Step[] {
  return commands.map((command, index) =>
    readPipeline(command, index === 0 ? 'always' : operators[index - 1] === '&&' ? 'success' : 'failure'))
}

function readPipeline(node: PipelineNode, when: When): Step {
  if (node.type !== 'Pipeline') {
    return readFolderChange(node, when) ?? { kind: 'run', when, negated: false, stages: [readStage(node, undefined)] }
  }
  if (node.prefixes.some(({ type }) => type !== 'Negation')) throw new NeedsShell('`time`, which is part of the shell')
  const stages = node.commands.map((command, index) => readStage(command, node.operators[index]))
  stages.slice(1).forEach((stage, index) => refuseLostOutput(stages[index]!, stage))
  return { kind: 'run', when, negated: node.prefixes.length % 2 === 1, stages }
}

/** What the one before writes must be what the next one reads: else their order in time would matter. */
function refuseLostOutput(before: Stage, after: Stage): void {
  if (after.stdin !== undefined) throw new NeedsShell('a command of a pipeline that reads something else')
  if (before.stdout !== 'out' && before.stderr !== 'out') throw new NeedsShell('a command of a pipeline that writes elsewhere')
}

function readFolderChange(node: PipelineNode, when: When): Step | undefined {
  if (node.type !== 'Command' || node.name?.text !== 'cd') return undefined
  const [, folder, ...more] = readCommandWords(node)
  const plain = folder !== undefined && folder.pattern === undefined && more.length === 0 && node.prefix.length === 0
    && node.redirects.length === 0 && !folder.text.startsWith('-') && folder.text !== ''
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
