import { parse, type ParsedScript } from 'unbash'
import { NeedsShell, Unreadable } from './needs-shell.ts'
import { nestedCommands } from './nested-commands.ts'
import { nothingLost } from './nothing-lost.ts'
import { readingScope } from './made-word.ts'
import type { CommandReading, Step } from './plan.ts'
import { PLAIN, type Scope } from './scope.ts'
import { readSteps } from './steps.ts'

/** Beyond that, a text is asked about as a whole. */
export const MAX_CHARS = 32 * 1024
/** In one word. */
const MAX_BRACES = 300
const MAX_HERE_DOCUMENTS = 100

// All but the tabulator and the end of a line.
const CONTROL = /(?![\t\n])\p{Cc}/u

/**
 * What a text of commands says, by reading it and nothing else. Only forms that are known count: everything else needs a
 * shell, and what a shell would run there must be known too. Contract: never throws.
 */
export function readCommand(text: string): CommandReading {
  if (text.length > MAX_CHARS) return unread(`it is longer than ${MAX_CHARS} characters`)
  if (isTangled(text)) return unread('it has more braces or here-documents than anybody writes')
  if (!text.isWellFormed() || CONTROL.test(text)) return unread('it has characters that cannot be seen')
  try {
    const script = parse(text)
    if ((script.errors?.length ?? 0) > 0) return unread(`it cannot be parsed (${script.errors![0]!.message})`)
    if (script.commands.length === 0) return unread('there is no command in it')
    const commands = nestedCommands(script)
    const steps = readPlan(script, PLAIN)
    if (steps !== undefined) return nothingLost(text, script) ? { kind: 'plan', steps } : unread('a part of it has no meaning')
    const otherwise = { kind: 'shell', why: reasons(script), commands } as const
    const reading = readPlan(script, readingScope(text, readSteps))
    const isWhole = reading !== undefined && nothingLost(text, script, { pos: 0, end: text.length, reading: true })
    return isWhole ? { kind: 'plan', steps: reading, otherwise } : otherwise
  } catch (error) {
    return unread(error instanceof Unreadable ? error.message : `reading it failed (${String(error)})`)
  }
}

/** What takes the parser a time that grows with the square of it. */
function isTangled(text: string): boolean {
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

/** Each statement says its own first reason. */
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

const unread = (why: string): CommandReading => ({ kind: 'unread', why })
