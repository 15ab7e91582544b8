/** An argument of a command: a literal string or a glob pattern. */
export interface Word {
  /** The unquoted string. For a pattern, its value if nothing matches. For what only a shell reads, its source. */
  readonly text: string
  readonly pattern?: readonly PatternPart[]
  /** Only a shell knows its value. Plans have no such words. */
  readonly isSource?: true
}
/** Whether a word is a literal string. */
export const isPlain = ({ pattern, isSource }: Word): boolean => pattern === undefined && isSource === undefined

export type PatternPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  /** One of these characters (`a-z` is a range), or any other character if `negated`. */
  | { readonly kind: 'set'; readonly chars: string; readonly negated: boolean }

export interface FileTarget {
  readonly file: string
  readonly append: boolean
}
/** Where a stream goes. `out` is the next command of the pipeline, or the result. */
export type Target = 'out' | 'err' | 'nothing' | FileTarget
export type Source = { readonly file: string } | { readonly text: string }

/** One command of a pipeline. */
export interface Stage {
  readonly assignments: readonly (readonly [name: string, value: string])[]
  /** The program, then its arguments. */
  readonly words: readonly Word[]
  /** If absent: the output of the previous command, or nothing. */
  readonly stdin?: Source
  readonly stdout: Target
  readonly stderr: Target
}

/** Runs a step depending on the exit code of the previous one. */
export type When = 'always' | 'success' | 'failure'

export type Step =
  | { readonly kind: 'run'; readonly when: When; readonly negated: boolean; readonly stages: readonly Stage[] }
  /** Changes the folder for all later steps. If it fails, they do not run. */
  | { readonly kind: 'cd'; readonly when: When; readonly path: string }

/** A command that a shell or another program would start. */
export interface NestedCommand {
  readonly words: readonly Word[]
}

/** What a line consists of, however its commands depend on each other. */
export interface LineParts {
  /** Every command, including those in loops, functions and substitutions. */
  readonly commands: readonly NestedCommand[]
  /** Files that a redirection reads, and that one writes. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Variables whose values the line does not set itself. */
  readonly variables: readonly string[]
}

/**
 * The result of parsing a command line:
 * - `plan`: every program, argument and file is known. It can run without a shell.
 * - `shell`: it needs a shell, and every program in it is known.
 * - `unread`: the programs it would run cannot be determined.
 */
export type ParsedCommand =
  | { readonly kind: 'plan'; readonly steps: readonly Step[]; readonly parts: LineParts }
  | ShellCommand
  | { readonly kind: 'unread'; readonly why: string }

export interface ShellCommand {
  readonly kind: 'shell'
  readonly why: readonly string[]
  readonly parts: LineParts
}

/** Splits a row of a table into its words. */
export const wordList = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '')

/** Thrown by the parser for syntax that only a shell can run. */
export class NeedsShell extends Error {
  override readonly name = 'NeedsShell'
}

/** Thrown if the commands that would run cannot be determined. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

/** Shell builtins that affect only the shell itself. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ':', 'bg', 'break', 'caller', 'cd', 'command', 'continue', 'declare', 'dirs', 'disown', 'exec', 'exit', 'export',
  'fg', 'getopts', 'help', 'history', 'jobs', 'let', 'local', 'logout', 'popd', 'pushd', 'read', 'readonly', 'return',
  'set', 'shift', 'shopt', 'suspend', 'times', 'type', 'typeset', 'ulimit', 'umask', 'unalias', 'unset', 'wait',
])

/** Builtins that run code from elsewhere, or change the meaning of a name. */
export const EVALUATING_BUILTINS: ReadonlySet<string> = new Set([
  '.', 'alias', 'bind', 'builtin', 'compgen', 'complete', 'compopt', 'enable', 'eval', 'fc', 'hash', 'mapfile',
  'readarray', 'source', 'trap',
])
