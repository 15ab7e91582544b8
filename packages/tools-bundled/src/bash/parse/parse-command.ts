import { type Command, forEachChild, parse, type ParsedScript, type SyntaxNode } from 'unbash'
import {
  EVALUATING_BUILTINS, NeedsShell, type NestedCommand, type ParsedCommand, PLAIN, type Scope, type Step, Unreadable,
  type Word,
} from './plan.ts'
import { readSteps } from './steps.ts'
import { isFullyParsed, readOnlyScope, readWord } from './words.ts'

/** Longer commands are not parsed. */
export const MAX_CHARS = 32 * 1024
/** Per word. */
const MAX_BRACES = 300
const MAX_HERE_DOCUMENTS = 100

// All control characters except tab and newline.
const CONTROL = /(?![\t\n])\p{Cc}/u

/**
 * Parses a command line without running anything. Only known syntax becomes a plan. Everything else needs a shell, and
 * then every command in it must still be known. Never throws.
 */
export function parseCommand(text: string): ParsedCommand {
  if (text.length > MAX_CHARS) return unread(`it is longer than ${MAX_CHARS} characters`)
  if (isTooComplex(text)) return unread('it has too many braces or here-documents')
  if (!text.isWellFormed() || CONTROL.test(text)) return unread('it contains invisible characters')
  try {
    const script = parse(text)
    if ((script.errors?.length ?? 0) > 0) return unread(`it cannot be parsed (${script.errors![0]!.message})`)
    if (script.commands.length === 0) return unread('it contains no command')
    const commands = nestedCommands(script)
    const steps = readPlan(script, PLAIN)
    if (steps !== undefined) {
      return isFullyParsed(text, script) ? { kind: 'plan', steps } : unread('a part of it could not be parsed')
    }
    const otherwise = { kind: 'shell', why: reasons(script), commands } as const
    const readOnlySteps = readPlan(script, readOnlyScope(text, readSteps))
    const isComplete = readOnlySteps !== undefined
      && isFullyParsed(text, script, { pos: 0, end: text.length, readOnly: true })
    return isComplete ? { kind: 'plan', steps: readOnlySteps, otherwise } : otherwise
  } catch (error) {
    return unread(error instanceof Unreadable ? error.message : `parsing failed (${String(error)})`)
  }
}

/** The parser takes quadratic time for these. */
function isTooComplex(text: string): boolean {
  if (count(text, '<<') > MAX_HERE_DOCUMENTS) return true
  return count(text, '{') > MAX_BRACES && text.split(/\s/).some((word) => count(word, '{') > MAX_BRACES)
}

function count(text: string, part: string): number {
  let found = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found++
  return found
}

function readPlan(script: ParsedScript, scope: Scope): readonly Step[] | undefined {
  try {
    return readSteps(script, scope)
  } catch (error) {
    if (error instanceof NeedsShell) return undefined
    throw error
  }
}

/** The first reason of each statement. */
function reasons(script: ParsedScript): readonly string[] {
  const why = new Set<string>()
  for (const statement of script.commands) {
    try {
      readSteps({ commands: [statement] }, PLAIN)
    } catch (error) {
      why.add(error instanceof Error ? error.message : String(error))
    }
  }
  return why.size > 0 ? [...why] : ['commands that depend on each other']
}

const unread = (why: string): ParsedCommand => ({ kind: 'unread', why })

/** Longer scripts are not analyzed command by command. */
const MAX_COMMANDS = 50
const MAX_DEPTH = 64

/** Every command in a script, including loops, functions and substitutions. Throws Unreadable. */
function nestedCommands(script: ParsedScript): readonly NestedCommand[] {
  const found: NestedCommand[] = []
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > MAX_DEPTH) throw new Unreadable('it is nested too deeply')
    const fault = node.type === 'Script' ? node.errors?.[0] : undefined
    if (fault !== undefined) throw new Unreadable(`a part of it cannot be parsed (${fault.message})`)
    if (node.type === 'Coproc') throw new Unreadable('it starts a coprocess')
    if ((node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') && node.script === undefined) {
      throw new Unreadable('a command in it could not be parsed')
    }
    if (node.type === 'Command' && node.name !== undefined) found.push(readNested(node))
    if (found.length > MAX_COMMANDS) throw new Unreadable(`it has more than ${MAX_COMMANDS} commands`)
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  visit(script, 0)
  return found
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
  const args = node.args.map(
    (arg) => arg.type === 'Assignment' ? { text: arg.text } : tryReadWord(arg) ?? { text: arg.text },
  )
  return { words: [name, ...args] }
}

const SHELL_VARIABLES = /^(?:PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|LD_.*|DYLD_.*)$/

function tryReadWord(node: NonNullable<Command['name']>): Word | undefined {
  try {
    return readWord(node)
  } catch (error) {
    if (error instanceof NeedsShell) return undefined
    throw error
  }
}
