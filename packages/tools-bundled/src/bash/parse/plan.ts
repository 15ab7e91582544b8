import type { Word as WordNode } from 'unbash'

/** A word as a program will get it: a text, a pattern that stands for names of files, or what is known only when it runs. */
export interface Word {
  /** Without its quotes; of a pattern, what it is when nothing matches; of a made word, its source. */
  readonly text: string
  readonly pattern?: readonly PatternPart[]
  readonly expansion?: Expansion
}
/** A word that is made while the plan runs. Only plans that do nothing but read have such words. */
export interface Expansion {
  readonly parts: readonly ExpansionPart[]
  /** Without quotes: what is made becomes as many words as it has. */
  readonly split: boolean
}
export type ExpansionPart =
  | { readonly kind: 'text'; readonly text: string }
  /** What these steps print. */
  | { readonly kind: 'output'; readonly steps: readonly Step[] }
  /** Of the environment, or of a loop around it. */
  | { readonly kind: 'variable'; readonly name: string }
  /** How the last step ended. */
  | { readonly kind: 'status' }

/** Whether a word may become any number of words. */
export const isVariadic = ({ pattern, expansion }: Word): boolean => pattern !== undefined || expansion?.split === true
/** Whether a word is known as it stands. */
export const isPlain = ({ pattern, expansion }: Word): boolean => pattern === undefined && expansion === undefined

export type PatternPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  /** One of these characters, `a-z` for a range; or none of them. */
  | { readonly kind: 'set'; readonly chars: string; readonly negated: boolean }

export interface FileTarget {
  readonly file: string
  readonly append: boolean
}
/** Where a stream goes. `out` is the next command of a pipeline, or the result. */
export type Target = 'out' | 'err' | 'nothing' | FileTarget
export type Source = { readonly file: string } | { readonly text: string }

/** One program with all it is given. */
export interface Stage {
  readonly assignments: readonly (readonly [name: string, value: string])[]
  /** The program first. */
  readonly words: readonly Word[]
  /** Absent: what the command before it writes, or nothing. */
  readonly stdin?: Source
  readonly stdout: Target
  readonly stderr: Target
}

/** Whether a step is taken, by how the one before it ended. */
export type When = 'always' | 'success' | 'failure'

export type Step =
  | {
    readonly kind: 'run'; readonly when: When; readonly negated: boolean; readonly stages: readonly Stage[]
    /** How long it took is told. */
    readonly timed?: true
  }
  /** Everything after it happens in that folder. When it fails, nothing after it does. */
  | { readonly kind: 'cd'; readonly when: When; readonly path: string }
  | GroupStep
  | LoopStep

/** Steps in parentheses: a folder that they change to is theirs alone. */
export interface GroupStep {
  readonly kind: 'group'
  readonly when: When
  readonly steps: readonly Step[]
}
/** The same steps for each of some words, or for each line of a file. */
export interface LoopStep {
  readonly kind: 'loop'
  readonly when: When
  readonly name: string
  readonly over: readonly Word[] | { readonly file: string }
  readonly steps: readonly Step[]
}

/** A command that a shell would start, as far as the text says. */
export interface NestedCommand {
  readonly words: readonly Word[]
}

/**
 * What a text of commands is:
 * - `plan`: every program, argument and file is known, and it is run so, without a shell;
 * - `shell`: it needs a shell, and every program that it names is known;
 * - `unread`: what it would run cannot be told from the text.
 */
export type ParsedCommand =
  | {
    readonly kind: 'plan'
    readonly steps: readonly Step[]
    /** Set when it has forms that count only while every command of it reads. Else this holds. */
    readonly otherwise?: ShellCommand
  }
  | ShellCommand
  | { readonly kind: 'unread'; readonly why: string }

export interface ShellCommand {
  readonly kind: 'shell'
  readonly why: readonly string[]
  readonly commands: readonly NestedCommand[]
}

/** A table's row as it is easiest to read: words with blanks between them. */
export const wordList = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '')

/** Thrown while a text is read, where it means what only a shell can do. */
export class NeedsShell extends Error {
  override readonly name = 'NeedsShell'
}

/** Thrown where nobody can tell from the text what would be run. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

/** Which forms count where a text is read. */
export interface Scope {
  /** Whether forms count that mean the same without a shell only while nothing but reading happens. */
  readonly readOnly: boolean
  /** A word that is made while it runs; undefined for any other, and where no such forms count. */
  readonly expand: (node: WordNode) => Expansion | undefined
  /** The same inside a loop over this variable. */
  readonly inLoop: (name: string) => Scope
}

/** What means the same without a shell in every case. */
export const PLAIN: Scope = { readOnly: false, expand: () => undefined, inLoop: () => PLAIN }

/** Commands that only a shell has, and that change nothing but the shell itself. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ':', 'bg', 'break', 'caller', 'cd', 'command', 'continue', 'declare', 'dirs', 'disown', 'exec', 'exit', 'export', 'fg',
    'getopts', 'help',
  'history', 'jobs', 'let', 'local', 'logout', 'popd', 'pushd', 'read', 'readonly', 'return', 'set', 'shift', 'shopt', 'suspend',
  'times', 'type', 'typeset', 'ulimit', 'umask', 'unalias', 'unset', 'wait',
])

/** Those that can do nothing but tell something, in some ways of using them. */
export const READ_ONLY_BUILTINS: ReadonlySet<string> = new Set(['command', 'type', 'help', 'history'])

/** Those that run a text, a file or a name which the command's own text does not show, or change what a name means. */
export const EVALUATING_BUILTINS: ReadonlySet<string> = new Set([
  '.', 'alias', 'bind', 'builtin', 'compgen', 'complete', 'compopt', 'enable', 'eval', 'fc', 'hash', 'mapfile', 'readarray',
  'source', 'trap',
])
