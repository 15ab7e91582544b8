import type { Command, ParsedScript, SyntaxNode } from 'unbash'
import { forEachChild } from 'unbash'
import { EVALUATING_BUILTINS } from './builtins.ts'
import { NeedsShell, Unreadable } from './needs-shell.ts'
import type { NestedCommand, Word } from './plan.ts'
import { readWord } from './word.ts'

/** Beyond that, nobody looks at each of them. */
const MAX_COMMANDS = 50
const MAX_DEPTH = 64

/** Every command in a script, also in loops, functions and substitutions. Contract: throws Unreadable. */
export function nestedCommands(script: ParsedScript): readonly NestedCommand[] {
  const found: NestedCommand[] = []
  const visit = (node: SyntaxNode, depth: number): void => {
    if (depth > MAX_DEPTH) throw new Unreadable('it is nested too deep')
    const fault = node.type === 'Script' ? node.errors?.[0] : undefined
    if (fault !== undefined) throw new Unreadable(`a part of it cannot be parsed (${fault.message})`)
    if (node.type === 'Coproc') throw new Unreadable('it starts a command beside itself')
    if ((node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') && node.script === undefined) {
      throw new Unreadable('a command in it could not be read')
    }
    if (node.type === 'Command' && node.name !== undefined) found.push(readNested(node))
    if (found.length > MAX_COMMANDS) throw new Unreadable(`it has more than ${MAX_COMMANDS} commands`)
    forEachChild(node, (child) => visit(child, depth + 1))
  }
  visit(script, 0)
  return found
}

function readNested(node: Command): NestedCommand {
  const name = known(node.name!)
  if (name === undefined || name.pattern !== undefined || name.text === '') {
    throw new Unreadable(`the program \`${node.name!.text}\` is named only when it runs`)
  }
  if (EVALUATING_BUILTINS.has(name.text)) throw new Unreadable(`\`${name.text}\` runs what the text does not show`)
  if (node.prefix.some((item) => item.type === 'Assignment' && STEERING.test(item.name))) {
    throw new Unreadable('it sets a variable that decides what a name means')
  }
  const args = node.args.map((arg) => arg.type === 'Assignment' ? { word: { text: arg.text }, open: false } : wordOrSource(arg))
  return { words: [name, ...args.map(({ word }) => word)], open: args.some(({ open }) => open) }
}

const STEERING = /^(?:PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|LD_.*|DYLD_.*)$/

function wordOrSource(node: NonNullable<Command['name']>): { readonly word: Word; readonly open: boolean } {
  const word = known(node)
  return word === undefined ? { word: { text: node.text }, open: true } : { word, open: false }
}

function known(node: NonNullable<Command['name']>): Word | undefined {
  try {
    return readWord(node)
  } catch (error) {
    if (error instanceof NeedsShell) return undefined
    throw error
  }
}
