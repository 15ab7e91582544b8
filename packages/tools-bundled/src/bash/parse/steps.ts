import type {
  AndOr, Assignment, Command, CommandNode, HereDoc, PipelineNode, PipeOperator, Redirection, Statement,
  Word as WordNode,
} from 'unbash'
import { BUILTINS, NeedsShell, type Source, type Stage, type Step, type Target, type When } from './plan.ts'
import { readWord } from './words.ts'

/** Converts statements to steps. Throws NeedsShell for statements that need a shell. */
export function readSteps({ commands }: { readonly commands: readonly Statement[] }): readonly Step[] {
  const steps = commands.flatMap(({ command, background }) => {
    if (background === true) throw new NeedsShell('a background command')
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
  if (node.prefixes.some(({ type }) => type === 'Time')) throw new NeedsShell('the shell builtin `time`')
  const stages = node.commands.map((command, index) => readStage(command, node.operators[index]))
  stages.slice(1).forEach((stage, index) => refuseLostOutput(stages[index]!, stage))
  return { kind: 'run', when, negated: node.prefixes.length % 2 === 1, stages }
}

/** Each command must read the output of the previous one. Otherwise their timing would matter. */
function refuseLostOutput(before: Stage, after: Stage): void {
  if (after.stdin !== undefined) {
    throw new NeedsShell('a command in a pipeline that does not read the output of the previous one')
  }
  if (before.stdout !== 'out' && before.stderr !== 'out') {
    throw new NeedsShell('a command in a pipeline that writes to a file instead of the next one')
  }
}

function readFolderChange(node: PipelineNode, when: When): Step | undefined {
  if (node.type !== 'Command' || node.name?.text !== 'cd') return undefined
  const [, folder, ...more] = readCommandWords(node)
  const plain = folder !== undefined && folder.pattern === undefined
    && more.length === 0
    && node.prefix.length === 0 && node.redirects.length === 0 && !folder.text.startsWith('-') && folder.text !== ''
  if (!plain) throw new NeedsShell('`cd` with options or a computed folder')
  return { kind: 'cd', when, path: folder.text }
}

/** The folder of a step must not depend on whether an earlier step succeeded. */
function refuseUncertainFolder(steps: readonly Step[]): void {
  steps.forEach((step, index) => {
    if (step.kind !== 'cd' || step.when === 'always') return
    const certain = step.when === 'success' && steps.slice(index + 1).every(({ when }) => when === 'success')
    if (!certain) throw new NeedsShell('`cd` that depends on another command')
  })
}

/** A simple command that means the same without a shell. Throws NeedsShell for all others. */
function readStage(node: CommandNode, pipe: PipeOperator | undefined): Stage {
  if (node.type !== 'Command') throw new NeedsShell(COMPOUND.get(node.type) ?? 'unknown syntax')
  const words = readCommandWords(node)
  const [program] = words
  if (program === undefined) throw new NeedsShell('a variable assignment')
  if (BUILTINS.has(program.text)) throw new NeedsShell(`the shell builtin \`${program.text}\``)
  const streams = readRedirects(node.redirects)
  return {
    assignments: node.prefix.filter((item) => item.type === 'Assignment').map(readAssignment),
    words,
    ...streams,
    // `|&` means `2>&1 |`, applied after the other redirections.
    ...(pipe === '|&' ? { stderr: streams.stdout } : {}),
  }
}

function readCommandWords(node: Command): Stage['words'] {
  if (node.name === undefined) return []
  return [readWord(node.name), ...node.args.map((arg) => {
    if (arg.type === 'Assignment') throw new NeedsShell('a variable declaration')
    return readWord(arg)
  })]
}

function readAssignment({ name, value, append, index }: Assignment): readonly [string, string] {
  if (append === true || index !== undefined || value.type !== 'Word') {
    throw new NeedsShell('an array, or appending to a variable')
  }
  // Patterns are not expanded in assignments.
  return [name, readWord(value).text]
}

const COMPOUND: ReadonlyMap<string, string> = new Map([
  ['If', 'an `if` statement'], ['For', 'a loop'], ['ArithmeticFor', 'a loop'], ['While', 'a loop'],
  ['Select', 'a `select` statement'],
  ['Case', 'a `case` statement'], ['Subshell', 'a subshell'], ['BraceGroup', 'commands in braces'],
  ['TestCommand', 'a test with `[[`'], ['ArithmeticCommand', 'arithmetic'], ['Function', 'a function'],
  ['Coproc', 'a coprocess'], ['Redirected', 'a redirection of several commands'],
])

type Streams = Pick<Stage, 'stdout' | 'stderr'> & { readonly stdin?: Source }

/** Redirects stdout and stderr to the same file. */
const BOTH: ReadonlySet<string> = new Set(['&>', '&>>'])
/** After `>&`: a file descriptor instead of a file. */
const DESCRIPTOR = /^(?:\d+-?|-)$/

/** Applies redirections from left to right, as a shell does. Throws NeedsShell. */
function readRedirects(redirects: readonly Redirection[]): Streams {
  let stdin: Source | undefined
  let stdout: Target = 'out'
  let stderr: Target = 'err'
  for (const redirect of redirects) {
    const descriptor = descriptorOf(redirect)
    if (redirect.type === 'HereDoc' || redirect.type === 'HereString') {
      if (descriptor !== undefined && descriptor !== 0) throw new NeedsShell(`input for file descriptor ${descriptor}`)
      stdin = { text: redirect.type === 'HereDoc' ? hereText(redirect) : `${plainText(redirect.target)}\n` }
      continue
    }
    const { operator } = redirect
    const path = plainText(redirect.target)
    // Before another redirection, a number is its descriptor. Parsers differ here.
    if (operator !== '>&' && /^\d+$/.test(redirect.target?.text ?? '')) {
      throw new NeedsShell('a redirection to a file whose name is a number')
    }
    if (operator === '<') {
      if (descriptor !== undefined && descriptor !== 0) throw new NeedsShell(`input for file descriptor ${descriptor}`)
      stdin = path === '/dev/null' ? { text: '' } : { file: path }
    } else if (BOTH.has(operator) || (operator === '>&' && descriptor === undefined && !DESCRIPTOR.test(path))) {
      stdout = fileTarget(path, operator === '&>>')
      stderr = stdout
    } else if (operator === '>' || operator === '>>' || operator === '>|') {
      const target = fileTarget(path, operator === '>>')
      if (descriptor === undefined || descriptor === 1) stdout = target
      else if (descriptor === 2) stderr = target
      else throw new NeedsShell(`output of file descriptor ${descriptor}`)
    } else if (operator === '>&' && (path === '1' || path === '2')) {
      const target: Target = path === '1' ? stdout : stderr
      if (descriptor === undefined || descriptor === 1) stdout = target
      else if (descriptor === 2) stderr = target
      else throw new NeedsShell(`output of file descriptor ${descriptor}`)
    } else {
      throw new NeedsShell(`the redirection ${operator}${path}`)
    }
  }
  return stdin === undefined ? { stdout, stderr } : { stdin, stdout, stderr }
}

function fileTarget(path: string, append: boolean): Target {
  if (path === '') throw new NeedsShell('a redirection to an empty file name')
  return path === '/dev/null' ? 'nothing' : { file: path, append }
}

function descriptorOf({ descriptor }: Redirection): number | undefined {
  if (descriptor?.type === 'FileDescriptorVariable') throw new NeedsShell('a file descriptor in a variable')
  return descriptor?.value
}

function plainText(node: WordNode | undefined): string {
  if (node === undefined) throw new NeedsShell('a redirection without a target')
  const { text, pattern } = readWord(node)
  if (pattern !== undefined) throw new NeedsShell('a redirection to a pattern')
  return text
}

function hereText({ operator, delimiter, body, closing }: HereDoc): string {
  if (closing === undefined) throw new NeedsShell('a here-document without an end')
  const { text, parts } = body
  // If the delimiter is unquoted, the shell removes some backslashes.
  if (delimiter?.quoted !== true && (parts?.some(({ type }) => type !== 'Literal') === true || /[\\$`]/.test(text))) {
    throw new NeedsShell('a here-document with expansions')
  }
  return operator === '<<-' ? text.replaceAll(/^\t+/gm, '') : text
}
