/** A word as a program will get it: a text, or a pattern that stands for names of files. */
export interface Word {
  /** Without its quotes; of a pattern, what it is when nothing matches. */
  readonly text: string
  readonly pattern?: readonly PatternPart[]
}
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
  | { readonly kind: 'run'; readonly when: When; readonly negated: boolean; readonly stages: readonly Stage[] }
  /** Everything after it happens in that folder. When it fails, nothing after it does. */
  | { readonly kind: 'cd'; readonly when: When; readonly path: string }

/** A command that a shell would start, as far as the text says. */
export interface NestedCommand {
  readonly words: readonly Word[]
  /** Whether a word of it is made by the shell only when it runs. */
  readonly open: boolean
}

/**
 * What a text of commands is:
 * - `plan`: every program, argument and file is known, and it is run so, without a shell;
 * - `shell`: it needs a shell, and every program that it names is known;
 * - `unread`: what it would run cannot be told from the text.
 */
export type CommandReading =
  | { readonly kind: 'plan'; readonly steps: readonly Step[] }
  | { readonly kind: 'shell'; readonly why: readonly string[]; readonly commands: readonly NestedCommand[] }
  | { readonly kind: 'unread'; readonly why: string }
