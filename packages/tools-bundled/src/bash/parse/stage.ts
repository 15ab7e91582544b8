import type { Assignment, Command, CommandNode, PipeOperator, TestCommand } from 'unbash'
import { BUILTINS, LOOKING_BUILTINS } from './builtins.ts'
import { NeedsShell } from './needs-shell.ts'
import type { Stage } from './plan.ts'
import { readRedirects } from './redirects.ts'
import type { Scope } from './scope.ts'
import { readWord, readWords } from './word.ts'

/** A simple command that means the same without a shell. Contract: throws NeedsShell. */
export function readStage(node: CommandNode, pipe: PipeOperator | undefined, scope: Scope): Stage {
  if (scope.reading && node.type === 'TestCommand') return readTest(node, scope)
  if (node.type !== 'Command') throw new NeedsShell(COMPOUND.get(node.type) ?? 'a form that is not known here')
  const words = readCommandWords(node, scope)
  const [program] = words
  if (program === undefined) throw new NeedsShell('a variable that is kept')
  if (BUILTINS.has(program.text) && !(scope.reading && LOOKING_BUILTINS.has(program.text))) {
    throw new NeedsShell(`\`${program.text}\`, which is part of the shell`)
  }
  const streams = readRedirects(node.redirects)
  return {
    assignments: node.prefix.filter((item) => item.type === 'Assignment').map(readAssignment),
    words,
    ...streams,
    // `|&` stands for `2>&1 |`, after all others.
    ...(pipe === '|&' ? { stderr: streams.stdout } : {}),
  }
}

export function readCommandWords(node: Command, scope: Scope): Stage['words'] {
  if (node.name === undefined) return []
  return [readWord(node.name), ...node.args.flatMap((arg) => {
    if (arg.type === 'Assignment') throw new NeedsShell('a variable that is declared')
    return readWords(arg, scope)
  })]
}

/** What `[[` says of one file or text, `test` says too. */
function readTest({ expression }: TestCommand, scope: Scope): Stage {
  if (expression.type !== 'TestUnary' || !/^-[defhLnrswxz]$/.test(expression.operator)) throw new NeedsShell(COMPOUND.get('TestCommand')!)
  const operand = readWord(expression.operand, scope)
  // Here a pattern is a text, and what is made is one word.
  if (operand.pattern !== undefined || operand.made?.split === true) throw new NeedsShell(COMPOUND.get('TestCommand')!)
  return { assignments: [], words: [{ text: 'test' }, { text: expression.operator }, operand], stdout: 'out', stderr: 'err' }
}

function readAssignment({ name, value, append, index }: Assignment): readonly [string, string] {
  if (append === true || index !== undefined || value.type !== 'Word') throw new NeedsShell('a list, or adding to a variable')
  // A pattern stays as it is here.
  return [name, readWord(value).text]
}

const COMPOUND: ReadonlyMap<string, string> = new Map([
  ['If', 'a condition'], ['For', 'a loop'], ['ArithmeticFor', 'a loop'], ['While', 'a loop'], ['Select', 'a menu'],
  ['Case', 'a choice'], ['Subshell', 'commands in parentheses'], ['BraceGroup', 'commands in braces'],
  ['TestCommand', 'a test in double brackets'], ['ArithmeticCommand', 'arithmetic'], ['Function', 'a function'],
  ['Coproc', 'a command beside others'], ['Redirected', 'several commands with one redirection'],
])
