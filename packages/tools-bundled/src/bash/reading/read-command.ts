import { parse, type ParsedScript } from 'unbash'
import { NeedsShell, Unreadable } from './needs-shell.ts'
import { nestedCommands } from './nested-commands.ts'
import { nothingLost } from './nothing-lost.ts'
import type { CommandReading } from './plan.ts'
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
    const plan = readPlan(script)
    if (plan !== undefined && !nothingLost(text, script)) return unread('a part of it has no meaning')
    return plan ?? { kind: 'shell', why: reasons(script), commands }
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

function readPlan(script: ParsedScript): CommandReading | undefined {
  try {
    return { kind: 'plan', steps: readSteps(script) }
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
      readSteps({ ...script, commands: [statement] })
    } catch (error) {
      why.add(error instanceof Error ? error.message : String(error))
    }
  }
  return why.size > 0 ? [...why] : ['commands that depend on each other']
}

const unread = (why: string): CommandReading => ({ kind: 'unread', why })
