import { parse, type ParsedScript } from 'unbash'
import { lineParts } from './line-parts.ts'
import { NeedsShell, type ParsedCommand, type Step, Unreadable } from './plan.ts'
import { readSteps } from './steps.ts'
import { isFullyParsed } from './words.ts'

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
    const parts = lineParts(script)
    const steps = readPlan(script)
    if (steps === undefined) return { kind: 'shell', why: reasons(script), parts }
    return isFullyParsed(text, script) ? { kind: 'plan', steps, parts } : unread('a part of it could not be parsed')
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

function readPlan(script: ParsedScript): readonly Step[] | undefined {
  try {
    return readSteps(script)
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
      readSteps({ commands: [statement] })
    } catch (error) {
      why.add(error instanceof Error ? error.message : String(error))
    }
  }
  return why.size > 0 ? [...why] : ['commands that depend on each other']
}

const unread = (why: string): ParsedCommand => ({ kind: 'unread', why })
