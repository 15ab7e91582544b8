import { parse, type ParsedScript } from 'unbash'
import { NeedsShell, Unreadable } from './needs-shell.ts'
import { nestedCommands } from './nested-commands.ts'
import type { CommandReading } from './plan.ts'
import { readSteps } from './steps.ts'

/** Beyond that, a text is asked about as a whole. */
export const MAX_CHARS = 64 * 1024

// All but the tabulator and the end of a line.
const CONTROL = /[\0-\u0008\u000b-\u001f\u007f-\u009f]/

/**
 * What a text of commands says, by reading it and nothing else. Only forms that are known count: everything else needs a
 * shell, and what a shell would run there must be known too. Contract: never throws.
 */
export function readCommand(text: string): CommandReading {
  if (text.length > MAX_CHARS) return unread(`it is longer than ${MAX_CHARS} characters`)
  if (!text.isWellFormed() || CONTROL.test(text)) return unread('it has characters that cannot be seen')
  try {
    const script = parse(text)
    if ((script.errors?.length ?? 0) > 0) return unread(`it cannot be parsed (${script.errors![0]!.message})`)
    if (script.commands.length === 0) return unread('there is no command in it')
    const commands = nestedCommands(script)
    return readPlan(script) ?? { kind: 'shell', why: reasons(script), commands }
  } catch (error) {
    return unread(error instanceof Unreadable ? error.message : `reading it failed (${String(error)})`)
  }
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
