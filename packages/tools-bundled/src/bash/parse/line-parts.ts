import { type Command, forEachChild, type ParsedScript, type SyntaxNode, type Word as WordNode } from 'unbash'
import { EVALUATING_BUILTINS, type LineParts, NeedsShell, type NestedCommand, Unreadable, type Word } from './plan.ts'
import { readWord } from './words.ts'

/** Longer scripts are not analyzed command by command. */
const MAX_COMMANDS = 50
const MAX_DEPTH = 64

/** Throws Unreadable if a command of the script is only known when it runs. */
export function lineParts(script: ParsedScript): LineParts {
  const commands: NestedCommand[] = []
  const [inputs, outputs]: [string[], string[]] = [[], []]
  const [used, set] = [new Set<string>(), new Set<string>()]
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > MAX_DEPTH) throw new Unreadable('it is nested too deeply')
    refuseUnparsed(node)
    switch (node.type) {
      case 'Command': {
        if (node.name === undefined) break
        const command = readNested(node)
        commands.push(command)
        if (command.words[0]!.text === 'read') for (const { text } of command.words.slice(1)) set.add(text)
        break
      }
      case 'Assignment':
        set.add(node.name)
        break
      case 'For':
      case 'Select':
        set.add(node.name.text)
        inputs.push(...(node.wordlist ?? []).map(valueOf))
        break
      case 'TestUnary':
        if (/^-[a-z]$/i.test(node.operator) && !/^-[nzvo]$/.test(node.operator)) inputs.push(valueOf(node.operand))
        break
      case 'Redirect':
        (isInput(node) ? inputs : outputs).push(valueOf(node.target))
        break
      case 'SimpleExpansion':
        used.add(node.text.slice(1))
        break
      case 'ParameterExpansion':
        // The value of one variable names another, or all names are listed.
        used.add(node.prefix === '!' ? node.text : node.parameter)
        break
      case 'ArithmeticWord':
        used.add(node.value)
        break
    }
    if (commands.length > MAX_COMMANDS) throw new Unreadable(`it has more than ${MAX_COMMANDS} commands`)
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  visit(script, 0)
  return {
    commands, inputs, outputs: outputs.filter((file) => !NO_FILE.test(file)),
    variables: [...used].filter((name) => !SPECIAL.test(name) && !set.has(name)),
  }
}

/** Another descriptor, or a device that keeps nothing. */
const NO_FILE = /^(?:\d*-?|\/dev\/(?:null|stdout|stderr))$/
/** Numbers in arithmetic, and parameters that describe the shell itself. */
const SPECIAL = /^(?:\d+|[?#$!@*-])$/

const isInput = ({ operator }: Extract<SyntaxNode, { type: 'Redirect' }>): boolean =>
  operator.startsWith('<') && operator !== '<>'

const valueOf = (node: WordNode | undefined): string => node === undefined ? '' : tryReadWord(node)?.text ?? node.text

function refuseUnparsed(node: SyntaxNode): void {
  const fault = node.type === 'Script' ? node.errors?.[0] : undefined
  if (fault !== undefined) throw new Unreadable(`a part of it cannot be parsed (${fault.message})`)
  if (node.type === 'Coproc') throw new Unreadable('it starts a coprocess')
  if ((node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') && node.script === undefined) {
    throw new Unreadable('a command in it could not be parsed')
  }
}

function readNested(node: Command): NestedCommand {
  const name = tryReadWord(node.name!)
  if (name === undefined || name.pattern !== undefined || name.text === '') {
    throw new Unreadable(`the program name \`${node.name!.text}\` is computed when it runs`)
  }
  if (EVALUATING_BUILTINS.has(name.text)) {
    throw new Unreadable(`\`${name.text}\` runs code that is not part of the command`)
  }
  if (node.prefix.some((item) => item.type === 'Assignment' && SHELL_VARIABLES.test(item.name))) {
    throw new Unreadable('it sets a variable that changes which programs run')
  }
  const source = (text: string): Word => ({ text, isSource: true })
  const args = node.args.map((arg) =>
    arg.type === 'Assignment' ? source(arg.text) : tryReadWord(arg) ?? source(arg.text))
  return { words: [name, ...args] }
}

const SHELL_VARIABLES = /^(?:PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|LD_.*|DYLD_.*)$/

function tryReadWord(node: WordNode): Word | undefined {
  try {
    return readWord(node)
  } catch (error) {
    if (error instanceof NeedsShell) return undefined
    throw error
  }
}
