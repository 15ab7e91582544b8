import { ToolError } from '@bulkhead/contract'

export interface HunkLine {
  readonly sign: ' ' | '-' | '+'
  /** With its line end, which the last line of a file may lack. */
  readonly text: string
}

/** A group of lines that follow each other in the file. */
export interface Hunk {
  /** Where the lines are in the old file, from 0, if the patch states it. */
  readonly at?: number | undefined
  /** Lines that come before, in order, each further down. */
  readonly anchors?: readonly string[]
  readonly lines: readonly HunkLine[]
  /** Whether the lines are the last ones of the file. */
  readonly isAtEnd?: boolean
  /** Whether the numbers of lines in its header were wrong. */
  readonly isRecounted?: boolean
}

/** What a patch does to one file. */
export interface FilePatch {
  /** The old path. null: the file is created. */
  readonly from: string | null
  /** The new path. null: the file is deleted. */
  readonly to: string | null
  readonly hunks: readonly Hunk[]
  /** Whether the old file stays when the path changes. */
  readonly isCopy?: boolean
  /** Whether the file is deleted whatever it contains. */
  readonly deletesAny?: boolean
  readonly executable?: boolean | undefined
}

const MOST_FILES = 500

/** Files as the patch names them. Throws InputInvalid for paths that no patch may have. */
export function checkFiles(files: readonly FilePatch[]): readonly FilePatch[] {
  if (files.length === 0) throw refused('The patch changes no file. Write a unified diff, or "*** Begin Patch".')
  if (files.length > MOST_FILES) {
    throw refused(`The patch changes ${files.length} files; at most ${MOST_FILES} are possible. Split it.`)
  }
  return files.map((file) => ({ ...file, from: plainPath(file.from), to: plainPath(file.to) }))
}

/** One spelling of each path, so that two sections for one file are noticed. */
function plainPath(path: string | null): string | null {
  if (path === null) return null
  const names = path.split('/').filter((name, index) => name !== '.' && (name !== '' || index === 0))
  if (names.includes('..')) throw refused(`"${path}" leads out of its folder. Write paths without "..".`)
  if (path === '' || path.endsWith('/') || path.includes('\0')) {
    throw refused(`"${path}" is not the path of a file. Correct the patch.`)
  }
  if (/^~(?:\/|$)/.test(path)) {
    throw refused(`"${path}" begins with "~", which is not expanded. Use a path inside the workspace.`)
  }
  return names.join('/')
}

export const refused = (message: string): ToolError => new ToolError('InputInvalid', message)

/** `line` counts from 1. */
export const refusedAt = (line: number, what: string): ToolError =>
  refused(`Line ${line} of the patch: ${what}. Correct the patch.`)

/** A line end of the patch is not part of its headers. */
export const headerAt = (lines: readonly string[], index: number): string => (lines[index] ?? '').replace(/\r$/, '')
