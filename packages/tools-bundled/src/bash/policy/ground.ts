import type { MadePart, Word } from '../parse/plan.ts'

/** Where a command is judged: paths are only compared here, never looked at. */
export interface Ground {
  /** Absolute. */
  readonly workspace: string
  /** The folder it starts in, relative to the workspace; `.` for the workspace itself. */
  readonly folder: string
  /** Canonical folders that are never written for a tool. */
  readonly neverWritten?: readonly string[]
  /** Variables of loops around it that stand for names of files inside the workspace. */
  readonly names?: ReadonlySet<string>
}

/** A path relative to the workspace, `.` for the workspace itself; undefined when it leads out of it. */
export function insidePath(path: string, { workspace, folder }: Ground): string | undefined {
  if (path === '' || path.includes('\0')) return undefined
  const root = normal(workspace.split('/'))
  const from = path.startsWith('/') ? [] : [...root, ...folder.split('/')]
  const full = normal([...from, ...path.split('/')])
  if (!root.every((name, index) => full[index] === name)) return undefined
  return full.slice(root.length).join('/') || '.'
}

/**
 * A pattern by the names it is made of: none of them may lead upwards, and it may not begin at the root. A word that is made while
 * it runs is proven then: here only those count that usually stand for such names, so that a person can approve of others.
 */
export function wordInside({ text, pattern, made }: Word, ground: Ground): boolean {
  if (made !== undefined) return made.parts.every((part) => madeInside(part, ground))
  if (pattern === undefined) return insidePath(text, ground) !== undefined
  return !text.startsWith('/') && !text.split('/').includes('..') && insidePath('.', ground) !== undefined
}

/** Programs that print names of files of the workspace. */
const LISTING: ReadonlySet<string> = new Set(['git', 'find', 'ls', 'rg', 'grep'])

function madeInside(part: MadePart, { names }: Ground): boolean {
  switch (part.kind) {
    case 'text':
      return !part.text.startsWith('/') && !part.text.split('/').includes('..')
    case 'variable':
      return names?.has(part.name) === true
    case 'output': {
      const [step] = part.steps
      return part.steps.length === 1 && step?.kind === 'run' && LISTING.has(step.stages[0]!.words[0]!.text)
    }
    case 'status':
      return false
  }
}

function normal(names: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const name of names) {
    if (name === '' || name === '.') continue
    if (name === '..') kept.pop()
    else kept.push(name)
  }
  return kept
}

const HARMLESS = /^(?:NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|CI|LANG|LC_[A-Z]+|TZ|COLUMNS|LINES|TERM)$/
/** No path: some of these name files when they hold one. */
const PLAIN = /^[\w.:@+-]*$/

/** Whether a variable changes only how something looks. */
export const isHarmlessVariable = (name: string, value: string): boolean => HARMLESS.test(name) && PLAIN.test(value)
