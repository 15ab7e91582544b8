import type { Word as WordNode } from 'unbash'

/** An argument of a command: a literal string, a glob pattern, or an expansion that is evaluated when the plan runs. */
export interface Word {
  /** The unquoted string. For a pattern, its value if nothing matches. For an expansion, its source. */
  readonly text: string
  readonly pattern?: readonly PatternPart[]
  readonly expansion?: Expansion
}
/** A word that is evaluated while the plan runs. Only read-only plans contain expansions. */
export interface Expansion {
  readonly parts: readonly ExpansionPart[]
  /** True for an unquoted expansion, whose value is split into words. */
  readonly split: boolean
}
export type ExpansionPart =
  | { readonly kind: 'text'; readonly text: string }
  /** The output of these steps. */
  | { readonly kind: 'output'; readonly steps: readonly Step[] }
  /** An environment variable, or the variable of an enclosing loop. */
  | { readonly kind: 'variable'; readonly name: string }
  /** The exit code of the last step. */
  | { readonly kind: 'status' }

/** Whether a word can become any number of words. */
export const isVariadic = ({ pattern, expansion }: Word): boolean => pattern !== undefined || expansion?.split === true
/** Whether a word is a literal string. */
export const isPlain = ({ pattern, expansion }: Word): boolean => pattern === undefined && expansion === undefined

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
  | {
    readonly kind: 'run'; readonly when: When; readonly negated: boolean; readonly stages: readonly Stage[]
    /** Reports the elapsed time. */
    readonly timed?: true
  }
  /** Changes the folder for all later steps. If it fails, they do not run. */
  | { readonly kind: 'cd'; readonly when: When; readonly path: string }
  | GroupStep
  | LoopStep

/** A subshell: its folder changes do not affect later steps. */
export interface GroupStep {
  readonly kind: 'group'
  readonly when: When
  readonly steps: readonly Step[]
}
/** A loop over words, or over the lines of a file. */
export interface LoopStep {
  readonly kind: 'loop'
  readonly when: When
  readonly name: string
  readonly over: readonly Word[] | { readonly file: string }
  readonly steps: readonly Step[]
}

/** A command that a shell or another program would start. */
export interface NestedCommand {
  readonly words: readonly Word[]
}

/**
 * The result of parsing a command line:
 * - `plan`: every program, argument and file is known. It runs without a shell.
 * - `shell`: it needs a shell, and every program in it is known.
 * - `unread`: the programs it would run cannot be determined.
 */
export type ParsedCommand =
  | {
    readonly kind: 'plan'
    readonly steps: readonly Step[]
    /**
     * Used instead if a command in the plan is not read-only. Set if the plan needs syntax that only read-only plans
     * may use.
     */
    readonly otherwise?: ShellCommand
  }
  | ShellCommand
  | { readonly kind: 'unread'; readonly why: string }

export interface ShellCommand {
  readonly kind: 'shell'
  readonly why: readonly string[]
  readonly commands: readonly NestedCommand[]
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

/** The syntax that a plan may use. */
export interface Scope {
  /** Also allows syntax that is safe to run without a shell only if every command is read-only. */
  readonly readOnly: boolean
  /** The expansion of a word. Undefined if it has none, or if expansions are not allowed. */
  readonly expand: (node: WordNode) => Expansion | undefined
  /** The scope inside a loop over this variable. */
  readonly inLoop: (name: string) => Scope
}

/** Syntax that always means the same with and without a shell. */
export const PLAIN: Scope = { readOnly: false, expand: () => undefined, inLoop: () => PLAIN }

/** Shell builtins that affect only the shell itself. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ':', 'bg', 'break', 'caller', 'cd', 'command', 'continue', 'declare', 'dirs', 'disown', 'exec', 'exit', 'export',
  'fg', 'getopts', 'help', 'history', 'jobs', 'let', 'local', 'logout', 'popd', 'pushd', 'read', 'readonly', 'return',
  'set', 'shift', 'shopt', 'suspend', 'times', 'type', 'typeset', 'ulimit', 'umask', 'unalias', 'unset', 'wait',
])

/** Builtins with read-only uses. */
export const READ_ONLY_BUILTINS: ReadonlySet<string> = new Set(['command', 'type', 'help', 'history'])

/** Builtins that run code from elsewhere, or change the meaning of a name. */
export const EVALUATING_BUILTINS: ReadonlySet<string> = new Set([
  '.', 'alias', 'bind', 'builtin', 'compgen', 'complete', 'compopt', 'enable', 'eval', 'fc', 'hash', 'mapfile',
  'readarray', 'source', 'trap',
])
