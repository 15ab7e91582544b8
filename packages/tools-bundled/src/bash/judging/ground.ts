import type { Word } from '../reading/plan.ts'

/** Where a command is judged: paths are only compared here, never looked at. */
export interface Ground {
  /** Absolute. */
  readonly workspace: string
  /** The folder it starts in, relative to the workspace; `.` for the workspace itself. */
  readonly folder: string
  /** Canonical folders that are never written for a tool. */
  readonly neverWritten?: readonly string[]
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

/** A pattern by the names it is made of: none of them may lead upwards, and it may not begin at the root. */
export function wordInside({ text, pattern }: Word, ground: Ground): boolean {
  if (pattern === undefined) return insidePath(text, ground) !== undefined
  return !text.startsWith('/') && !text.split('/').includes('..') && insidePath('.', ground) !== undefined
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
