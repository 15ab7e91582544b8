import type { Word } from '../parse/plan.ts'
import { readCommand } from '../parse/read-command.ts'
import { catastropheOf, type Findings } from './findings.ts'
import { commandText } from './command-text.ts'
import { baseName, unwrap } from './wrappers.ts'

const MAX_DEPTH = 8

/** What a program is, seen through everything that only changes how it runs. */
export function innermost(words: readonly Word[]): readonly Word[] {
  let at = words
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const wrapped = unwrap(at)
    const [inner] = wrapped?.inner ?? []
    if (wrapped?.transparent !== true || inner === undefined) return at
    at = inner.words
  }
  // Wrapped deeper than anybody would: it counts as what it is outside.
  return words
}

/**
 * Every name the words go by: their own, by the program's bare name too, and those of all that they run, to any depth.
 * What is found on the way to be never done, or not to be told, goes to the findings.
 */
export function namesOf(words: readonly Word[], findings: Findings, depth = 0): readonly string[] {
  if (depth > MAX_DEPTH || !findings.mayLookAgain()) {
    findings.ask('it runs too many commands by way of others to tell what is run', true)
    return []
  }
  const [program, ...args] = words
  const catastrophe = catastropheOf(words)
  if (catastrophe !== undefined) findings.deny(catastrophe)
  const bare = baseName(program?.text ?? '')
  const names = [commandText(words), ...(bare === program?.text ? [] : [commandText([{ text: bare }, ...args])])]
  const wrapped = unwrap(words)
  if (wrapped === undefined) return names
  if (wrapped.unread !== undefined) findings.ask(`what it runs cannot be told: ${wrapped.unread}`, true)
  return [
    ...names,
    ...wrapped.inner.flatMap((inner) => namesOf(inner.words, findings, depth + 1)),
    ...wrapped.scripts.flatMap((script) => scriptNames(script, findings, depth + 1)),
  ]
}

/** The names of all commands in a text that a shell will read. */
export function scriptNames(script: string, findings: Findings, depth = 0): readonly string[] {
  if (script.trim() === '') return []
  const reading = readCommand(script)
  findings.ask('a text in it is handed to a shell')
  switch (reading.kind) {
    case 'unread':
      findings.ask(`what a shell would run cannot be told: ${reading.why}`, true)
      return [script, ...startsIn(script)]
    case 'shell':
      return [script, ...reading.commands.flatMap(({ words }) => namesOf(words, findings, depth + 1))]
    case 'plan':
      if (reading.otherwise !== undefined) {
        return [script, ...reading.otherwise.commands.flatMap(({ words }) => namesOf(words, findings, depth + 1))]
      }
      return [script, ...reading.steps.flatMap((step) =>
        step.kind === 'run' ? step.stages.flatMap(({ words }) => namesOf(words, findings, depth + 1)) : [])]
  }
}

const MAX_STARTS = 200

/** Of a text that cannot be read: it may run whatever begins at any of its words. Enough to forbid it. */
export const startsIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/[\w./+-]+/g).take(MAX_STARTS), ({ index }) => text.slice(index))
